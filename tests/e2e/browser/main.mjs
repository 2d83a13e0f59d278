/** Every screen as a person sees it, in Chromium, against a headless gateway and a scripted provider. */
import { Checks } from "../support/checks.mjs";
import { accessibility } from "./accessibility.mjs";
import { combos } from "./combos.mjs";
import { crowded } from "./crowded.mjs";
import { firstRun } from "./first-run.mjs";
import { limits } from "./limits.mjs";
import { providers } from "./providers.mjs";
import { requests } from "./requests.mjs";
import { settings } from "./settings.mjs";
import { Stage } from "./stage.mjs";

const checks = new Checks("browser", process.argv[2]);
await checks.begin();
const stage = await Stage.open(process.env.OMNIROUTE_BINARIES ?? "");
try {
  await firstRun(checks, stage);
  await providers(checks, stage);
  await combos(checks, stage);
  await requests(checks, stage);
  await limits(checks, stage);
  await settings(checks, stage);
  await crowded(checks, stage);
  await accessibility(checks, stage);
} finally {
  await stage.close();
}
checks.finish();
