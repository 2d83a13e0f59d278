/** Accounts of which nothing is known: named in few lines, because there is nothing to compare. */
import { Link } from "@tanstack/react-router";
import type { QuotaConnection } from "@/bindings";
import { Section } from "@/components/Field";
import { useMessages } from "@/i18n";
import { groupBy } from "@/lib/group-by";

/** More of one provider are counted instead. */
const NAMED = 8;

type NamedAccountsProps = {
  title: string;
  /** Why nothing is known. */
  help: string;
  accounts: readonly QuotaConnection[];
  nameOf: { provider(id: string): string; connection(id: string): string };
};

export function NamedAccounts({ title, help, accounts, nameOf }: NamedAccountsProps) {
  const words = useMessages().quota;
  return (
    <Section title={title} help={help}>
      <ul>
        {[...groupBy(accounts, ({ provider }) => provider)].map(([provider, of]) => (
          <li key={provider} className="flex flex-wrap gap-x-8 gap-y-1 border-b py-2.5 last:border-b-0">
            <span className="w-56 min-w-0 shrink-0 truncate font-medium">{nameOf.provider(provider)}</span>
            <span className="flex min-w-64 flex-1 flex-wrap gap-x-4 gap-y-1 text-ink-soft">
              {of.slice(0, NAMED).map(({ connectionId }) => (
                <Link
                  key={connectionId}
                  to="/providers/$providerId/connections/$connectionId"
                  params={{ providerId: provider, connectionId }}
                  title={nameOf.connection(connectionId)}
                  className="max-w-56 truncate hover:text-ink hover:underline"
                >
                  {nameOf.connection(connectionId)}
                </Link>
              ))}
              {of.length > NAMED && (
                <Link
                  to="/providers/$providerId"
                  params={{ providerId: provider }}
                  className="text-accent-text hover:underline"
                >
                  {words.moreAccounts(of.length - NAMED)}
                </Link>
              )}
            </span>
          </li>
        ))}
      </ul>
    </Section>
  );
}
