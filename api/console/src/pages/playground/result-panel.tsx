// The result with its options: preview of the effect, download, clipboard.
import { Link } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { useFormat } from '../../text/format.ts'
import { useText } from '../../text/text.ts'
import { AnchorButton, Button } from '../../ui/button.tsx'
import { Card, Row, Stack } from '../../ui/page.tsx'
import { ErrorNote } from '../../ui/states.tsx'
import { showNote, showProblem } from '../../ui/toasts.tsx'
import { type Effects, renderResult } from './effects.ts'
import { OptionsPanel } from './options-panel.tsx'
import { playgroundText } from './playground-text.ts'
import styles from './result-panel.module.css'
import type { CutOut } from './use-cut-out.ts'

type Rendered = { readonly url: string; readonly width: number; readonly height: number; readonly size: number }

type ResultProps = {
  readonly cutOut: CutOut
  readonly name: string
  readonly effects: Effects
  readonly onEffects: (effects: Effects) => void
}

export function ResultPanel({ cutOut, name, effects, onEffects }: ResultProps) {
  const text = useText(playgroundText)
  const format = useFormat()
  const [rendered, error] = useRendered(cutOut, effects)
  const extension = effects.format === 'jpeg' ? 'jpg' : effects.format
  const fileName = `${name.replace(/\.\w+$/, '')}-cutout.${extension}`
  const copy = async (): Promise<void> => {
    try {
      // The clipboard takes PNG alone.
      const png = renderResult(cutOut.blob, cutOut.task.foreground, { ...effects, format: 'png' })
      await navigator.clipboard.write([new ClipboardItem({ 'image/png': png })])
      showNote(text.copiedImage)
    } catch {
      showProblem(text.copyFailed)
    }
  }
  return (
    <Card title={text.options}>
      <Stack>
        <div
          className={`${styles.preview} ${effects.background === 'transparent' && effects.format !== 'jpeg' ? styles.checker : ''}`}
        >
          {rendered !== undefined && <img src={rendered.url} alt={fileName} />}
        </div>
        {error !== undefined && <ErrorNote error={error} />}
        <p className={styles.facts}>
          {rendered === undefined
            ? '…'
            : text.resultSize(
                format.number(rendered.width),
                format.number(rendered.height),
                format.bytes(rendered.size),
              )}
        </p>
        <OptionsPanel effects={effects} onChange={onEffects} />
        <Row>
          <AnchorButton look="primary" href={rendered?.url} download={fileName}>
            {text.download}
          </AnchorButton>
          <Button onPress={() => void copy()}>{text.copyImage}</Button>
          <Link to="/tasks/$taskId" params={{ taskId: cutOut.task.id }}>
            {text.openTask}
          </Link>
        </Row>
        <p className={styles.note}>{effects.shadow === undefined ? text.preview : text.shadowPreview}</p>
      </Stack>
    </Card>
  )
}

/** The latest rendering; an older one that ends later is dropped. */
function useRendered(cutOut: CutOut, effects: Effects): readonly [Rendered | undefined, unknown] {
  const [rendered, setRendered] = useState<Rendered>()
  const [error, setError] = useState<unknown>()
  useEffect(() => {
    let isCurrent = true
    let url: string | undefined
    const render = async (): Promise<void> => {
      const blob = await renderResult(cutOut.blob, cutOut.task.foreground, effects)
      if (!isCurrent) return
      url = URL.createObjectURL(blob)
      setError(undefined)
      setRendered({ url, width: blob.width, height: blob.height, size: blob.size })
    }
    render().catch((cause) => isCurrent && setError(cause))
    return () => {
      isCurrent = false
      if (url !== undefined) URL.revokeObjectURL(url)
    }
  }, [cutOut, effects])
  return [rendered, error]
}
