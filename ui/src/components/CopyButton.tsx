import { Check, Copy } from "lucide-react";
import { useMessages } from "@/i18n";
import { cn } from "@/lib/cn";
import { useCopy } from "@/lib/hooks";
import { Button, IconButton } from "./ui/button";

type CopyButtonProps = {
  text: string;
  /** What is copied, for the label: “Copy the address”. */
  label: string;
  /** Draws the word beside the sign. */
  wide?: boolean;
  /** Instead of “Copy”. */
  word?: string;
  primary?: boolean;
  className?: string;
};

export function CopyButton({ text, label, wide = false, word, primary = false, className }: CopyButtonProps) {
  const messages = useMessages();
  const [copied, copy] = useCopy();
  const sign = copied ? <Check aria-hidden className={primary ? undefined : "text-ready"} /> : <Copy aria-hidden />;
  return (
    <>
      {wide ? (
        <Button
          variant={primary ? "primary" : "secondary"}
          aria-label={label}
          className={className}
          onClick={() => void copy(text)}
        >
          {sign}
          {copied ? messages.common.copied : (word ?? messages.common.copy)}
        </Button>
      ) : (
        <IconButton label={label} className={cn(className)} onClick={() => void copy(text)}>
          {sign}
        </IconButton>
      )}
      <span role="status" className="sr-only">
        {copied ? messages.common.copied : ""}
      </span>
    </>
  );
}

/** A line of monospace text with its copy button: an address, a key. */
export function CopyLine({ text, label, className }: { text: string; label: string; className?: string }) {
  return (
    <div
      className={cn("flex h-8 min-w-0 items-center rounded-md border border-line bg-sunken pr-0.5 pl-2.5", className)}
    >
      <code className="min-w-0 flex-1 select-text truncate font-mono" title={text}>
        {text}
      </code>
      <CopyButton text={text} label={label} />
    </div>
  );
}
