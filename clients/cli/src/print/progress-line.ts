// The progress bar as text: a pure function of counts, time and width.
import type { Progress } from 'matte-client'
import { formatBytes, formatClock } from './format.ts'

export type ProgressState = {
  readonly total: number
  readonly done: number
  readonly failed: number
  readonly doneBytes: number
  /** Images that cost time, without skipped ones; decides rate and time left. */
  readonly processed: number
  readonly elapsedMs: number
}

const barWidth = 20

/** Leaves out parts from the right when the terminal is narrow. */
export function renderProgress(state: ProgressState, columns: number): string {
  const { total, done, failed, doneBytes, processed, elapsedMs } = state
  const share = total === 0 ? 0 : done / total
  const rate = elapsedMs > 0 ? processed / (elapsedMs / 1_000) : 0
  const parts = [
    `${renderBar(share)} ${done}/${total} images`,
    `${Math.floor(share * 100)} %`,
    ...(failed > 0 ? [`${failed} failed`] : []),
    rate > 0 ? `${formatClock(((total - done) / rate) * 1_000)} left` : 'time left unknown',
    `${rate.toFixed(1)} images/s`,
    formatBytes(doneBytes),
    ...(elapsedMs > 0 ? [`${formatBytes(doneBytes / (elapsedMs / 1_000))}/s`] : []),
  ]
  let line = parts[0] ?? ''
  for (const part of parts.slice(1)) {
    if (line.length + 2 + part.length >= columns) break
    line += `  ${part}`
  }
  return line.slice(0, Math.max(0, columns - 1))
}

function renderBar(share: number): string {
  const full = Math.round(Math.min(1, share) * barWidth)
  return `${'█'.repeat(full)}${'░'.repeat(barWidth - full)}`
}

/** One image on its way; empty when it has arrived. */
export function renderStep({ state, loadedBytes, totalBytes }: Progress): string {
  const size = totalBytes ? `${formatBytes(loadedBytes)} of ${formatBytes(totalBytes)}` : formatBytes(loadedBytes)
  const texts: Readonly<Record<Progress['state'], string>> = {
    uploading: `Uploading ${size}`,
    queued: 'Waiting in the queue',
    processing: 'Removing the background',
    downloading: `Downloading ${size}`,
    done: '',
  }
  return texts[state]
}
