import { type ReactNode, useEffect, useState } from 'react'
import { useText } from '../text/text.ts'
import { Button } from './button.tsx'
import styles from './copy.module.css'
import { uiText } from './ui-text.ts'

const shownMs = 2_000

type CopyButtonProps = { readonly value: string; readonly children?: ReactNode }

export function CopyButton({ value, children }: CopyButtonProps) {
  const text = useText(uiText)
  const [isCopied, setIsCopied] = useState(false)
  useEffect(() => {
    if (!isCopied) return
    const timer = setTimeout(() => setIsCopied(false), shownMs)
    return () => clearTimeout(timer)
  }, [isCopied])
  const copy = async (): Promise<void> => {
    await navigator.clipboard.writeText(value)
    setIsCopied(true)
  }
  return (
    <Button size="small" onPress={() => void copy()}>
      <span aria-live="polite">{isCopied ? text.copied : (children ?? text.copy)}</span>
    </Button>
  )
}

/** Code or JSON in a block that scrolls, with a button that copies it. */
export const CodeBlock = ({ code, label }: { readonly code: string; readonly label: string }) => (
  <div className={styles.block}>
    {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a keyboard must be able to scroll it */}
    <section className={styles.code} tabIndex={0} aria-label={label}>
      <pre>
        <code>{code}</code>
      </pre>
    </section>
    <div className={styles.button}>
      <CopyButton value={code} />
    </div>
  </div>
)

/** A secret that is shown once. */
export const Secret = ({ value, label }: { readonly value: string; readonly label: string }) => (
  <div className={styles.secret}>
    <span className="visually-hidden">{label}: </span>
    <code>{value}</code>
    <CopyButton value={value} />
  </div>
)
