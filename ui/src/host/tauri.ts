/** The host in the desktop window: commands named like the operations, and events forwarded by the program. */
import { invoke } from "@tauri-apps/api/core";
import { listen } from "@tauri-apps/api/event";
import { Store } from "@tauri-apps/plugin-store";
import type { Changed, Live } from "@/bindings";
import {
  defaultPreferences,
  type GatewayControl,
  type GatewayState,
  type Host,
  HostError,
  type PreferenceStore,
  type Preferences,
  type Refusal,
} from "./host";
import { type Input, type OperationName, type Output, splitInput } from "./operations";

const PREFERENCES_FILE = "preferences.json";

export function tauriHost(): Host {
  return {
    call,
    subscribe: (listener) => {
      // The gateway lives in this very process: it can be heard whenever it runs.
      const stopWatching = gateway.watch(({ state }) => listener.connected(state === "running"));
      const stopListening = whileListening<Changed>("changed", listener.changed);
      return () => {
        stopWatching();
        stopListening();
      };
    },
    live: (listener) => {
      const stop = whileListening<Live>("live", listener);
      void invoke("live_watch", { watching: true });
      return () => {
        stop();
        void invoke("live_watch", { watching: false });
      };
    },
    preferences: windowPreferences(),
    window: {
      gateway,
      startAtLogin: {
        get: () => invoke<boolean>("window_start_at_login_get"),
        set: (enabled) => invoke("window_start_at_login_set", { enabled }),
      },
      tray: true,
      openDataFolder: () => invoke("window_open_data_folder"),
      openLink: (url) => invoke("window_open_link", { url }),
    },
  };
}

const gateway: GatewayControl = {
  watch: (listener) => {
    void invoke<GatewayState>("window_gateway_state").then(listener);
    return whileListening<GatewayState>("gateway-state", listener);
  },
  startOn: (port) => invoke<GatewayState>("window_gateway_start_on", { port }),
};

async function call<O extends OperationName>(operation: O, input: Input<O>): Promise<Output<O>> {
  try {
    const { place, rest } = splitInput(operation, input);
    return await invoke<Output<O>>(operation, { ...place, input: rest });
  } catch (error) {
    throw new HostError(toRefusal(error));
  }
}

function toRefusal(error: unknown): Refusal {
  if (typeof error === "object" && error !== null && "code" in error) {
    return { message: "", ...(error as Partial<Refusal> & { code: string }) };
  }
  return { code: "internal_error", message: String(error) };
}

/** `listen` answers late; stopping before that must still stop. */
function whileListening<T>(name: string, listener: (payload: T) => void): () => void {
  const stop = listen<T>(name, (event) => listener(event.payload));
  return () => void stop.then((unlisten) => unlisten());
}

function windowPreferences(): PreferenceStore {
  const store = Store.load(PREFERENCES_FILE, { autoSave: true, defaults: {} });
  return {
    load: async () => {
      const saved = Object.fromEntries(await (await store).entries()) as Partial<Preferences>;
      return { ...defaultPreferences, ...saved };
    },
    save: async (key, value) => (await store).set(key, value),
  };
}
