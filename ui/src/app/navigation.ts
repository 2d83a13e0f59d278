/**
 * The rail and the palette's “Go to”, in the order of the interface page. A screen appears here when it exists: adding
 * one is an entry here, a route in `router.tsx`, and its words in both languages.
 */
import type { LinkProps } from "@tanstack/react-router";
import {
  Bot,
  House,
  Info,
  KeyRound,
  ListTree,
  type LucideIcon,
  Server,
  ShieldCheck,
  SlidersHorizontal,
  Tag,
} from "lucide-react";
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
      { to: "/requests", icon: ListTree, label: (m) => m.shell.requests },
      { to: "/providers", icon: Server, label: (m) => m.shell.providers },
    ],
  },
  {
    title: (m) => m.shell.settings,
    entries: [
      { to: "/settings/general", icon: SlidersHorizontal, label: (m) => m.shell.general },
      { to: "/settings/names", icon: Tag, label: (m) => m.shell.names },
      { to: "/settings/keys", icon: KeyRound, label: (m) => m.shell.apiKeys },
      { to: "/settings/agents", icon: Bot, label: (m) => m.shell.agents },
      { to: "/settings/security", icon: ShieldCheck, label: (m) => m.shell.security },
      { to: "/settings/about", icon: Info, label: (m) => m.shell.about },
    ],
  },
];
