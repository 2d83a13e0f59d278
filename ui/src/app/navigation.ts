/**
 * The rail and the palette's “Go to”, in the order of the interface page. A screen appears here when it exists: adding
 * one is an entry here, a route in `router.tsx`, and its words in both languages.
 */
import type { LinkProps } from "@tanstack/react-router";
import { Bot, House, type LucideIcon, Server, SlidersHorizontal } from "lucide-react";
import type { Messages } from "@/i18n";

export type NavigationEntry = {
  readonly to: NonNullable<LinkProps["to"]>;
  readonly icon: LucideIcon;
  label(messages: Messages): string;
};

export type NavigationGroup = {
  readonly title: ((messages: Messages) => string) | null;
  readonly entries: readonly NavigationEntry[];
};

export const navigation: readonly NavigationGroup[] = [
  {
    title: null,
    entries: [
      { to: "/home", icon: House, label: (m) => m.shell.home },
      { to: "/providers", icon: Server, label: (m) => m.shell.providers },
    ],
  },
  {
    title: (m) => m.shell.settings,
    entries: [
      { to: "/settings/general", icon: SlidersHorizontal, label: (m) => m.shell.general },
      { to: "/settings/agents", icon: Bot, label: (m) => m.shell.agents },
    ],
  },
];
