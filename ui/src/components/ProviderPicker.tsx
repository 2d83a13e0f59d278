/** Where a new connection leads: the catalogue by class, searchable, and a custom endpoint at the end. */
import { ChevronRight, Plus } from "lucide-react";
import { useState } from "react";
import type { CatalogProvider, ProviderClass } from "@/bindings";
import { useRead } from "@/host/queries";
import { useMessages } from "@/i18n";
import { FilterInput } from "./FilterInput";
import { ProviderMark } from "./ProviderMark";
import { ErrorState, SkeletonRows } from "./States";

/** Stands for “an endpoint of my own” where a provider is chosen. */
export const CUSTOM = "custom";

type ProviderPickerProps = { onPick(providerId: string): void; columns?: 1 | 2 };

const classOrder: readonly ProviderClass[] = ["apikey", "local", "free", "oauth"];

/** First what most people have a key for; the rest by name. */
const wellKnown = ["anthropic", "openai", "gemini", "openrouter", "deepseek", "xai", "ollama", "lmstudio"];

export function ProviderPicker({ onPick, columns = 1 }: ProviderPickerProps) {
  const messages = useMessages();
  const [search, setSearch] = useState("");
  const catalog = useRead("catalog_providers", null);

  if (catalog.error) return <ErrorState error={catalog.error} onRetry={() => void catalog.refetch()} />;
  const found = sorted(catalog.data?.providers ?? []).filter((provider) => matches(provider, search));
  const grid = columns === 2 ? "grid grid-cols-1 gap-x-4 wide:grid-cols-2" : "grid grid-cols-1";

  return (
    <div className="min-w-0">
      <FilterInput label={messages.providers.search} value={search} onChange={setSearch} className="w-full" />
      {catalog.isPending && <SkeletonRows rows={8} height={44} />}
      {classOrder.map((group) => {
        const providers = found.filter((provider) => provider.class === group);
        if (providers.length === 0) return null;
        return (
          <section key={group} className="mt-5" aria-label={messages.classes[group].name}>
            <h3 className="font-medium text-ink-soft text-xs">{messages.classes[group].name}</h3>
            <p className="mb-1 text-ink-faint text-xs">
              {group === "oauth" ? messages.providers.signInLater : messages.classes[group].help}
            </p>
            <ul className={grid}>
              {providers.map((provider) => (
                <li key={provider.id}>
                  <PickRow
                    name={provider.name}
                    detail={host(provider.baseUrl)}
                    disabled={group === "oauth"}
                    onClick={() => onPick(provider.id)}
                  />
                </li>
              ))}
            </ul>
          </section>
        );
      })}
      {catalog.data && found.length === 0 && <p className="py-6 text-ink-faint">{messages.common.noMatch(search)}</p>}
      {catalog.data && (
        <section className="mt-5" aria-label={messages.providers.other}>
          <h3 className="mb-1 font-medium text-ink-soft text-xs">{messages.providers.other}</h3>
          <PickRow
            name={messages.classes.custom.name}
            detail={messages.classes.custom.help}
            custom
            onClick={() => onPick(CUSTOM)}
          />
        </section>
      )}
    </div>
  );
}

type PickRowProps = { name: string; detail: string; disabled?: boolean; custom?: boolean; onClick(): void };

function PickRow({ name, detail, disabled = false, custom = false, onClick }: PickRowProps) {
  return (
    <button
      type="button"
      disabled={disabled}
      onClick={onClick}
      className="group -mx-2 flex h-11 w-[calc(100%+16px)] items-center gap-3 rounded-md px-2 text-left transition-colors duration-100 hover:bg-hover disabled:opacity-60 disabled:hover:bg-transparent"
    >
      {custom ? (
        <span
          aria-hidden
          className="inline-flex size-6 shrink-0 items-center justify-center rounded-md inset-ring inset-ring-line-strong"
        >
          <Plus className="size-3.5 text-ink-soft" />
        </span>
      ) : (
        <ProviderMark name={name} />
      )}
      <span className="shrink-0 font-medium">{name}</span>
      <span className="min-w-0 flex-1 truncate text-ink-faint text-xs">{detail}</span>
      {!disabled && (
        <ChevronRight
          aria-hidden
          className="size-4 shrink-0 text-ink-faint opacity-0 group-hover:opacity-100 group-focus-visible:opacity-100"
        />
      )}
    </button>
  );
}

function sorted(providers: readonly CatalogProvider[]): CatalogProvider[] {
  const rank = (id: string) => {
    const index = wellKnown.indexOf(id);
    return index < 0 ? wellKnown.length : index;
  };
  return providers
    .filter((provider) => !provider.custom)
    .sort((a, b) => rank(a.id) - rank(b.id) || a.name.localeCompare(b.name));
}

function matches(provider: CatalogProvider, search: string): boolean {
  const wanted = search.trim().toLowerCase();
  return [provider.name, provider.id, provider.alias].some((text) => text.toLowerCase().includes(wanted));
}

export function host(url: string): string {
  return url.replace(/^https?:\/\//, "").replace(/\/.*$/, "");
}
