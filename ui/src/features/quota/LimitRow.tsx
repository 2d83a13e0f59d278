import { Trash2 } from "lucide-react";
import { useId } from "react";
import { IconButton } from "@/components/ui/button";
import { Input } from "@/components/ui/input";
import { Select } from "@/components/ui/select";
import { useMessages } from "@/i18n";
import { type LimitFields, periods, units } from "@/lib/pool-draft";

type LimitRowProps = {
  limit: LimitFields;
  position: number;
  error: string | undefined;
  onChange(limit: LimitFields): void;
  onRemove(): void;
};

/** So much of this, in so long. */
export function LimitRow({ limit, position, error, onChange, onRemove }: LimitRowProps) {
  const words = useMessages().pools;
  const id = useId();
  // No vendor tells percentages of an hour.
  const windows = limit.unit === "percent" ? periods.filter((period) => period !== "hourly") : periods;
  return (
    <div className="flex flex-col gap-1">
      <div className="flex items-center gap-2">
        <Input
          aria-label={words.limitAt(position)}
          aria-invalid={error !== undefined || undefined}
          aria-describedby={error && id}
          inputMode="decimal"
          className="w-24"
          value={limit.limit}
          onChange={(event) => onChange({ ...limit, limit: event.target.value })}
        />
        <Select
          aria-label={words.unitAt(position)}
          className="flex-1"
          value={limit.unit}
          options={units.map((value) => ({ value, label: words.units[value] }))}
          onChange={(unit) =>
            onChange({
              ...limit,
              unit,
              window: unit === "percent" && limit.window === "hourly" ? "5h" : limit.window,
              limit: unit === "percent" && limit.limit === "" ? "100" : limit.limit,
            })
          }
        />
        <Select
          aria-label={words.windowAt(position)}
          className="flex-1"
          value={limit.window}
          options={windows.map((value) => ({ value, label: words.windows[value] }))}
          onChange={(window) => onChange({ ...limit, window })}
        />
        <IconButton label={words.removeLimit(position)} onClick={onRemove}>
          <Trash2 aria-hidden />
        </IconButton>
      </div>
      {error && (
        <p id={id} className="text-blocked text-xs">
          {error}
        </p>
      )}
    </div>
  );
}
