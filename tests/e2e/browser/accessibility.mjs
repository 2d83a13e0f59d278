/** What everybody needs of a screen: contrast, names and roles, the keyboard, and room for its words. */
import assert from "node:assert/strict";
import { mkdir } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { emptyScreens, furnish, settle, visit } from "./screens.mjs";
import { NARROW, ROOMY, SMALLEST } from "./stage.mjs";

/**
 * @typedef {import("./stage.mjs").Page} Page
 * @typedef {import("./screens.mjs").Screen} Screen
 */

const axePath = createRequire(import.meta.url).resolve("axe-core/axe.min.js");
const themes = /** @type {const} */ (["light", "dark"]);
const sizes = /** @type {const} */ ([ROOMY, NARROW]);

/**
 * @param {import("../support/checks.mjs").Checks} checks
 * @param {import("./stage.mjs").Stage} stage
 */
export async function accessibility(checks, stage) {
  await checks.check("axe finds nothing on any screen, light and dark", (folder) =>
    stage.play(folder, {}, async (world) => {
      await everyScreen(stage, world, ["en"], async (page) => {
        /** @type {string[]} */
        const findings = [];
        for (const theme of themes) {
          await dress(page, theme, ROOMY);
          findings.push(...(await axeFindings(page)).map((finding) => `${theme}: ${finding}`));
        }
        return findings;
      });
    }),
  );

  await checks.check("the keyboard reaches everything, and is seen where it is", (folder) =>
    stage.play(folder, {}, async (world) => {
      await everyScreen(stage, world, ["en"], keyboardFindings);
    }),
  );

  await checks.check("the rail holds every screen, however low the window", (folder) =>
    stage.play(folder, { onboarded: true }, async ({ page }) => {
      await page.goto("/home");
      const rail = page.getByRole("navigation", { name: "Main navigation" });
      const last = rail.getByRole("link").last();
      for (const size of sizes) {
        await page.setViewportSize(size);
        const hidden = await rail.evaluate((element) => element.scrollHeight - element.clientHeight);
        assert.equal(hidden, 0, `${hidden} pixels of the rail are out of sight at ${size.width} × ${size.height}`);
        assert.ok(await last.isVisible());
      }
      const { height = 0 } = (await last.boundingBox()) ?? {};
      assert.ok(height >= 24, `a row is ${height} pixels high, too little to be hit`);
    }),
  );

  await checks.check("every screen fits its window in both languages; pictures of all", (folder) =>
    stage.play(folder, {}, async (world) => {
      const pictures = join(checks.folder, "screens");
      await mkdir(pictures, { recursive: true });
      await everyScreen(stage, world, ["en", "it"], async (page, { name }, language) => {
        /** @type {string[]} */
        const findings = [];
        for (const size of sizes) {
          for (const theme of themes) {
            await dress(page, theme, size);
            await page.screenshot({ path: join(pictures, `${name}-${size.width}-${theme}-${language}.png`) });
          }
          findings.push(...(await overflowFindings(page)).map((finding) => `${size.width}: ${finding}`));
        }
        await dress(page, "light", SMALLEST);
        await page.screenshot({ path: join(pictures, `${name}-${SMALLEST.width}-${language}.png`) });
        findings.push(...(await overflowFindings(page)).map((finding) => `${SMALLEST.width}: ${finding}`));
        return findings;
      });
    }),
  );
}

/**
 * Looks at every screen, empty first and then with something in it; fails with all findings.
 *
 * @param {import("./stage.mjs").Stage} stage
 * @param {import("./stage.mjs").World} world
 * @param {readonly ("en" | "it")[]} languages
 * @param {(page: Page, screen: Screen, language: "en" | "it") => Promise<string[]>} examine
 */
async function everyScreen(stage, world, languages, examine) {
  /** @type {string[]} */
  const findings = [];
  const lookAt = async (/** @type {readonly Screen[]} */ screens) => {
    for (const language of languages) {
      await stage.show({ theme: "system", language, onboarded: true }, {}, async (page) => {
        for (const screen of screens) {
          await visit(page, screen);
          const found = await examine(page, screen, language);
          findings.push(...found.map((finding) => `${screen.name} (${language}): ${finding}`));
        }
      });
    }
  };
  await lookAt(emptyScreens);
  await lookAt(await furnish(world));
  assert.equal(findings.length, 0, findings.join("\n"));
}

/**
 * Puts a screen into another theme, as the system would, and another size; waits until that is drawn.
 *
 * @param {Page} page
 * @param {"light" | "dark"} theme
 * @param {{ width: number, height: number }} size
 */
export async function dress(page, theme, size) {
  await page.emulateMedia({ colorScheme: theme });
  await page.setViewportSize(size);
  await page.locator(`html[data-theme=${theme}]`).waitFor();
  await settle(page);
}

/** @param {Page} page */
async function axeFindings(page) {
  if (!(await page.evaluate(() => "axe" in globalThis))) await page.addScriptTag({ path: axePath });
  return page.evaluate(async () => {
    /** @type {typeof import("axe-core")} */
    const axe = Reflect.get(globalThis, "axe");
    const { violations } = await axe.run(document);
    return violations.flatMap(({ id, nodes }) => nodes.map((node) => `${id}: ${node.html.slice(0, 160)}`));
  });
}

/**
 * Tabs through the page once. What can be tabbed to must be met, and must look different when it is.
 *
 * @param {Page} page
 */
async function keyboardFindings(page) {
  /** @type {string[]} */
  const findings = [];
  const expected = await page.evaluate(() => {
    const all = document.querySelectorAll("a[href], button, input, select, textarea, [tabindex]");
    let count = 0;
    for (const element of all) {
      if (!(element instanceof HTMLElement) || element.tabIndex < 0 || element.matches(":disabled")) continue;
      if (element.closest("[aria-hidden=true], [inert]") || !element.checkVisibility()) continue;
      // Hands the focus on to the one of its buttons that is chosen; the arrows reach the others.
      if (element.matches("[role=radiogroup]")) continue;
      element.dataset.unmet = "";
      count += 1;
    }
    if (document.activeElement instanceof HTMLElement) document.activeElement.blur();
    return count;
  });
  // A list's current row offers its own controls, so that there may be more stops than there were at first.
  for (let stop = 0; stop < expected + 20; stop += 1) {
    await page.keyboard.press("Tab");
    const met = await page.evaluate(() => {
      const element = document.activeElement;
      if (!(element instanceof HTMLElement) || element === document.body) return null;
      const again = element.dataset.unmet === "met";
      // A time has several places that the keyboard goes through, one after another.
      for (const left of document.querySelectorAll("[data-unmet=here]")) left.setAttribute("data-unmet", "met");
      element.dataset.unmet = "here";
      const shows = (/** @type {Element} */ shown) => {
        const { outlineStyle, outlineWidth } = getComputedStyle(shown);
        return outlineStyle !== "none" && Number.parseFloat(outlineWidth) > 0;
      };
      // A grid shows the keyboard on its current row.
      const row = element.getAttribute("aria-activedescendant");
      const shown = row ? document.getElementById(row) : element;
      const { width, height } = element.getBoundingClientRect();
      return {
        again,
        seen: shown !== null && shows(shown) && width * height > 1,
        html: element.outerHTML.slice(0, 140),
      };
    });
    // After the last stop the keyboard leaves the page, and comes back in at its top.
    if (met === null) continue;
    if (met.again) break;
    if (!met.seen) findings.push(`no sign of the keyboard on ${met.html}`);
  }
  const missed = await page.evaluate(() =>
    [...document.querySelectorAll("[data-unmet='']")].map((element) => element.outerHTML.slice(0, 140)),
  );
  return [...findings, ...missed.map((html) => `not reached by Tab: ${html}`)];
}

/**
 * Nothing makes the window scroll sideways, and no button's words are cut.
 *
 * @param {Page} page
 */
export async function overflowFindings(page) {
  return page.evaluate(() => {
    /** @type {string[]} */
    const findings = [];
    for (const element of [document.documentElement, document.querySelector("main")]) {
      if (element && element.scrollWidth > element.clientWidth)
        findings.push(`${element.tagName} is ${element.scrollWidth} wide in ${element.clientWidth}`);
    }
    for (const element of document.querySelectorAll("button, h1, h2, label")) {
      if (element instanceof HTMLElement && element.scrollWidth > element.clientWidth + 1 && element.clientWidth > 1)
        findings.push(`cut: ${element.textContent?.slice(0, 60)}`);
    }
    return findings;
  });
}
