/** What one sees from outside, and which screen tells why (resilience specification, 22.4). */
import { Link } from "@tanstack/react-router";
import { Section } from "@/components/Field";
import { useMessages } from "@/i18n";

const symptoms = {
  allKeys: ["/monitoring/health", "/monitoring/cooldowns"],
  stillOut: ["/monitoring/health"],
  oneKey: ["/monitoring/cooldowns"],
  oneModel: ["/settings/cooldowns"],
  notBack: ["/monitoring/cooldowns"],
} as const;

export function Symptoms() {
  const messages = useMessages();
  const words = messages.explain;
  const names = {
    "/monitoring/health": messages.shell.health,
    "/monitoring/cooldowns": messages.shell.cooldowns,
    "/settings/cooldowns": messages.shell.modelCooldowns,
  };
  return (
    <div className="max-w-[860px]">
      <Section title={words.symptomsTitle}>
        <ul>
          {(Object.keys(symptoms) as (keyof typeof symptoms)[]).map((symptom) => (
            <li key={symptom} className="flex items-baseline justify-between gap-6 border-b py-2.5 last:border-b-0">
              <div className="min-w-0">
                <div className="font-medium">{words.symptoms[symptom].seen}</div>
                <p className="text-ink-soft">{words.symptoms[symptom].means}</p>
              </div>
              <div className="flex shrink-0 flex-col items-end">
                {symptoms[symptom].map((to) => (
                  <Link key={to} to={to} className="text-accent-text hover:underline">
                    {names[to]}
                  </Link>
                ))}
              </div>
            </li>
          ))}
        </ul>
      </Section>
    </div>
  );
}
