import { Eye, EyeOff } from "lucide-react";
import { type ComponentProps, type ReactNode, useId, useState } from "react";
import { useMessages } from "@/i18n";
import { cn } from "@/lib/cn";
import { IconButton } from "./ui/button";
import { Input } from "./ui/input";

/** What a control needs to be tied to its label, help and error. */
export type FieldControl = {
  id: string;
  "aria-describedby": string | undefined;
  "aria-invalid": boolean | undefined;
};

type FieldProps = {
  label: ReactNode;
  help?: ReactNode;
  error?: string | undefined;
  optional?: boolean;
  className?: string;
  children(control: FieldControl): ReactNode;
};

/** Label above, control, one line of help or the error below. */
export function Field({ label, help, error, optional = false, className, children }: FieldProps) {
  const messages = useMessages();
  const id = useId();
  const describedBy = error || help ? `${id}-help` : undefined;
  return (
    <div className={cn("flex min-w-0 flex-col gap-1", className)}>
      <label htmlFor={id} className="font-medium">
        {label}
        {optional && <span className="ml-1.5 font-normal text-ink-faint">{messages.common.optional}</span>}
      </label>
      {children({ id, "aria-describedby": describedBy, "aria-invalid": error ? true : undefined })}
      {describedBy && (
        <p id={describedBy} className={cn("text-xs", error ? "text-blocked" : "text-ink-faint")}>
          {error ?? help}
        </p>
      )}
    </div>
  );
}

type RowProps = {
  label: ReactNode;
  help?: ReactNode;
  children: ReactNode;
  htmlFor?: string;
  helpId?: string;
  /** The setting's key, for addresses that lead to it. */
  anchor?: string;
  /** The control is many lines high: the label then stands at its first. */
  tall?: boolean;
};

/** Label and help at the left, the control at the right: one line of a settings group. */
export function FieldRow({ label, help, children, htmlFor, helpId, anchor, tall = false }: RowProps) {
  return (
    <div
      data-setting={anchor}
      className={cn(
        "flex min-h-12 justify-between gap-6 border-b py-2.5 last:border-b-0",
        tall ? "items-start" : "items-center",
      )}
    >
      <div className="min-w-0 max-w-[520px]">
        {htmlFor ? (
          <label htmlFor={htmlFor} className="font-medium">
            {label}
          </label>
        ) : (
          <div className="font-medium">{label}</div>
        )}
        {help && (
          <p id={helpId} className="text-ink-faint text-xs">
            {help}
          </p>
        )}
      </div>
      <div className="flex shrink-0 items-center gap-2">{children}</div>
    </div>
  );
}

/** A heading and the rows under it, set apart by space and a hairline. */
export function Section({
  title,
  help,
  action,
  children,
}: {
  title: string;
  help?: string;
  action?: ReactNode;
  children: ReactNode;
}) {
  return (
    <section className="mt-8 first:mt-0">
      <div className="flex items-end justify-between gap-4 border-b pb-2">
        <div className="min-w-0">
          <h2 className="font-semibold text-md">{title}</h2>
          {help && <p className="text-ink-faint text-xs">{help}</p>}
        </div>
        {action}
      </div>
      {children}
    </section>
  );
}

/** A credential while it is typed: hidden, can be looked at, never remembered by the browser. */
export function SecretInput({ className, ...rest }: Omit<ComponentProps<typeof Input>, "type">) {
  const messages = useMessages();
  const [visible, setVisible] = useState(false);
  return (
    <span className={cn("relative flex", className)}>
      <Input
        mono
        type={visible ? "text" : "password"}
        autoComplete="new-password"
        data-1p-ignore
        data-lpignore="true"
        className="w-full pr-9"
        {...rest}
      />
      <IconButton
        label={visible ? messages.common.hide : messages.common.show}
        aria-pressed={visible}
        className="absolute top-0.5 right-0.5"
        onClick={() => setVisible(!visible)}
      >
        {visible ? <EyeOff aria-hidden /> : <Eye aria-hidden />}
      </IconButton>
    </span>
  );
}
