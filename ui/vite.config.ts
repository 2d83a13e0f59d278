import { fileURLToPath } from "node:url";
import tailwindcss from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";
import { gatewayProxy } from "./gateway-proxy.ts";

const root = fileURLToPath(new URL(".", import.meta.url));

export default defineConfig({
  root,
  plugins: [react(), tailwindcss(), gatewayProxy()],
  resolve: { alias: { "@": fileURLToPath(new URL("./src", import.meta.url)) } },
  // The desktop window loads this address while developing (devUrl in tauri.conf.json).
  server: { host: "127.0.0.1", port: 5173, strictPort: true },
  preview: { host: "127.0.0.1", port: 4173 },
  cacheDir: fileURLToPath(new URL("../node_modules/.vite", import.meta.url)),
  clearScreen: false,
  build: {
    outDir: "dist",
    emptyOutDir: true,
    target: ["chrome111", "safari16.4"],
    // What others wrote changes seldom: it stands apart from the window's own code.
    chunkSizeWarningLimit: 800,
    rolldownOptions: { output: { codeSplitting: { groups: [{ name: "vendor", test: /node_modules/ }] } } },
  },
  test: {
    root,
    environment: "happy-dom",
    include: ["src/**/*.test.{ts,tsx}"],
    setupFiles: ["./src/test/setup.ts"],
    css: false,
    testTimeout: 20_000,
  },
});
