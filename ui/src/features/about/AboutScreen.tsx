import { ExternalLink, FolderOpen } from "lucide-react";
import type { App } from "@/bindings";
import { CopyButton } from "@/components/CopyButton";
import { CopyFact, Fact, Facts } from "@/components/Facts";
import { Logo } from "@/components/Logo";
import { Screen } from "@/components/Screen";
import { ErrorState, SkeletonRows } from "@/components/States";
import { RelativeTime } from "@/components/Time";
import { Button } from "@/components/ui/button";
import { useHost } from "@/host";
import { useRead } from "@/host/queries";
import { useMessages } from "@/i18n";

const HOMEPAGE = "https://omniroute.app";

export function AboutScreen() {
  const messages = useMessages();
  const words = messages.about;
  const app = useRead("app_get", null);
  return (
    <Screen title={words.title}>
      <div className="flex max-w-[640px] flex-col gap-7">
        <Name version={app.data?.version} />
        {app.isPending && <SkeletonRows rows={3} height={28} />}
        {app.error && <ErrorState error={app.error} onRetry={() => void app.refetch()} />}
        {app.data && <Running app={app.data} />}
        <dl className="flex flex-col gap-4 border-t pt-6">
          <Note title={words.privacy} text={words.privacyText} />
          <Note title={words.licence} text={words.licenceText} />
          <Note title={words.parts} text={words.partsText} />
        </dl>
      </div>
    </Screen>
  );
}

function Name({ version }: { version: string | undefined }) {
  const messages = useMessages();
  const { window } = useHost();
  return (
    <div className="flex items-center gap-4">
      <Logo className="size-14" />
      <div>
        <div className="font-semibold text-lg">
          OmniRoute {version && <span className="font-normal text-ink-faint">{version}</span>}
        </div>
        <p className="text-ink-soft">{messages.about.tagline}</p>
        <button
          type="button"
          onClick={() => void window.openLink(HOMEPAGE)}
          className="mt-1 inline-flex items-center gap-1 text-accent-text hover:underline"
        >
          {HOMEPAGE.replace("https://", "")}
          <ExternalLink aria-hidden className="size-3" />
          <span className="sr-only">({messages.common.openInBrowser})</span>
        </button>
      </div>
    </div>
  );
}

function Running({ app }: { app: App }) {
  const messages = useMessages();
  const words = messages.about;
  const { window } = useHost();
  const details = `OmniRoute ${app.version}\n${navigator.userAgent}\nsecret store: ${app.secretStore}`;
  return (
    <div className="flex flex-col items-start gap-4">
      <Facts>
        <CopyFact label={words.address} value={app.url} />
        <CopyFact label={words.dataFolder} value={app.dataDir} what={words.theFolder} />
        <Fact label={words.running}>
          <RelativeTime at={app.startedAt} />
        </Fact>
      </Facts>
      <div className="flex gap-2">
        {window.openDataFolder && (
          <Button onClick={() => void window.openDataFolder?.()}>
            <FolderOpen aria-hidden />
            {messages.settings.general.openFolder}
          </Button>
        )}
        <CopyButton wide word={words.copyDetails} text={details} label={messages.common.copyOf(words.theVersion)} />
      </div>
    </div>
  );
}

function Note({ title, text }: { title: string; text: string }) {
  return (
    <div>
      <dt className="font-medium">{title}</dt>
      <dd className="text-ink-soft">{text}</dd>
    </div>
  );
}
