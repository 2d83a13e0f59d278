/** The two views of quotas: what is left of accounts, and who may use how much of those that are shared. */
import { Link } from "@tanstack/react-router";
import { useMessages } from "@/i18n";

const tab =
  "inline-flex items-center rounded-[5px] px-3 text-ink-soft transition-colors duration-100 hover:text-ink aria-[current=page]:bg-canvas aria-[current=page]:font-medium aria-[current=page]:text-ink aria-[current=page]:inset-ring aria-[current=page]:inset-ring-line-strong";

export function QuotaTabs() {
  const words = useMessages().pools.tabs;
  return (
    <nav
      aria-label={words.label}
      className="mb-5 inline-flex h-8 rounded-md bg-sunken p-0.5 inset-ring inset-ring-line"
    >
      <Link to="/monitoring/quota" activeOptions={{ exact: true }} className={tab}>
        {words.accounts}
      </Link>
      <Link to="/monitoring/quota/pools" className={tab}>
        {words.pools}
      </Link>
    </nav>
  );
}
