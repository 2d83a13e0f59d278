import { QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { Appearance } from "@/app/Appearance";
import { HostProvider, openHost } from "@/host";
import { PreferencesProvider } from "@/host/preferences";
import { createQueryClient } from "@/host/queries";
import { router } from "./router";
import "./styles/base.css";

const host = await openHost();
const preferences = await host.preferences.load();
const root = document.getElementById("root");

if (root) {
  createRoot(root).render(
    <StrictMode>
      <HostProvider host={host}>
        <QueryClientProvider client={createQueryClient()}>
          <PreferencesProvider initial={preferences}>
            <Appearance>
              <RouterProvider router={router} />
            </Appearance>
          </PreferencesProvider>
        </QueryClientProvider>
      </HostProvider>
    </StrictMode>,
  );
}
