import { QueryClientProvider } from "@tanstack/react-query";
import { createMemoryHistory, RouterProvider } from "@tanstack/react-router";
import { render } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import axe from "axe-core";
import type { ReactNode } from "react";
import { expect } from "vitest";
import { Appearance } from "@/app/Appearance";
import { HostProvider, type Preferences } from "@/host";
import { defaultPreferences } from "@/host/host";
import { PreferencesProvider } from "@/host/preferences";
import { createQueryClient } from "@/host/queries";
import { createAppRouter } from "@/router";
import type { FakeHost } from "./fake-host";

type Options = { preferences?: Partial<Preferences> };

/** The whole window at an address, as a person would see it. */
export function open(path: string, host: FakeHost, options: Options = {}) {
  const router = createAppRouter(createMemoryHistory({ initialEntries: [path] }));
  const view = wrap(<RouterProvider router={router as never} />, host, options);
  return { ...view, router, path: () => router.state.location.pathname };
}

/** One component with everything it may ask for around it. */
export function wrap(children: ReactNode, host: FakeHost, { preferences }: Options = {}) {
  const user = userEvent.setup();
  const view = render(
    <HostProvider host={host}>
      <QueryClientProvider client={createQueryClient()}>
        <PreferencesProvider initial={{ ...defaultPreferences, onboarded: true, language: "en", ...preferences }}>
          <Appearance>{children}</Appearance>
        </PreferencesProvider>
      </QueryClientProvider>
    </HostProvider>,
  );
  return { ...view, user };
}

/** axe finds nothing. Contrast needs real pixels and is checked in the browser. */
export async function expectAccessible(container: Element): Promise<void> {
  const { violations } = await axe.run(container, { rules: { "color-contrast": { enabled: false } } });
  expect(violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`)).toEqual([]);
}
