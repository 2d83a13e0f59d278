import "@testing-library/jest-dom/vitest";
import { cleanup, configure } from "@testing-library/react";
import { afterEach, vi } from "vitest";

// A busy machine draws a screen late; that is not what these tests are about.
configure({ asyncUtilTimeout: 5_000 });

afterEach(() => {
  cleanup();
  document.documentElement.removeAttribute("lang");
});

// What happy-dom leaves out and the components ask for.
Element.prototype.scrollIntoView ??= () => undefined;
Element.prototype.hasPointerCapture ??= () => false;
Element.prototype.setPointerCapture ??= () => undefined;
globalThis.ResizeObserver ??= class {
  observe() {}
  unobserve() {}
  disconnect() {}
};
vi.stubGlobal("scrollTo", () => undefined);
