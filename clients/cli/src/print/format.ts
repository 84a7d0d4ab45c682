// Sizes, durations and times for people.

/** Decimal units, as operating systems and stores print them. */
export function formatBytes(bytes: number): string {
  if (bytes < 1_000) return `${Math.round(bytes)} B`
  const units = ['kB', 'MB', 'GB', 'TB']
  let value = bytes
  let unit = 'B'
  for (const next of units) {
    if (value < 999.5) break
    value /= 1_000
    unit = next
  }
  return `${value < 9.95 ? value.toFixed(1) : Math.round(value)} ${unit}`
}

/** `0:07`, `12:30`, `1:02:03`. */
export function formatClock(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1_000))
  const [hours, minutes] = [Math.floor(seconds / 3_600), Math.floor(seconds / 60) % 60]
  const two = (value: number): string => String(value).padStart(2, '0')
  return hours > 0 ? `${hours}:${two(minutes)}:${two(seconds % 60)}` : `${minutes}:${two(seconds % 60)}`
}

export function formatDuration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`
  return ms < 60_000 ? `${(ms / 1_000).toFixed(1)} s` : `${formatClock(ms)} min`
}

/** ISO time without fractions, in UTC: `2026-11-21 09:30:00Z`. */
export const formatTime = (iso: string): string => iso.replace('T', ' ').replace(/\.\d+/, '')

/** `no such file or directory` of `ENOENT: no such file or directory, open 'chair.jpg'`. */
export function reasonOf(error: unknown): string {
  const { message } = error as Error
  return /^[A-Z0-9]+: ([^,]+)/.exec(message)?.[1] ?? message
}

export const plural = (count: number, one: string, many = `${one}s`): string =>
  `${count.toLocaleString('en')} ${count === 1 ? one : many}`
