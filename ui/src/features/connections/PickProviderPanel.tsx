import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { CustomConnectionForm } from "@/components/CustomConnectionForm";
import { CUSTOM, ProviderPicker } from "@/components/ProviderPicker";
import { SidePanel } from "@/components/SidePanel";
import { useMessages } from "@/i18n";

/** First half of adding a connection: where does it lead? */
export function PickProviderPanel() {
  const messages = useMessages();
  const navigate = useNavigate();
  const [custom, setCustom] = useState(false);
  const close = () => void navigate({ to: "/providers" });
  const pick = (providerId: string) => {
    if (providerId === CUSTOM) setCustom(true);
    else void navigate({ to: "/providers/$providerId/add", params: { providerId } });
  };
  if (custom) {
    return (
      <SidePanel key="custom" title={messages.nodes.title} subtitle={messages.setup.key.customHelp} onClose={close}>
        <CustomConnectionForm
          onDone={(connection) =>
            void navigate({ to: "/providers/$providerId", params: { providerId: connection.provider } })
          }
        />
      </SidePanel>
    );
  }
  return (
    <SidePanel key="pick" title={messages.providers.pickTitle} subtitle={messages.providers.pickHelp} onClose={close}>
      <ProviderPicker onPick={pick} />
    </SidePanel>
  );
}
