// Keys of results.
import { yearMonth } from './object-key.ts'

/** Endings of result keys and of downloaded files, by format. */
const extensions = { png: 'png', webp: 'webp', jpeg: 'jpg' } as const
type ResultFormat = keyof typeof extensions

/** The key of one claim's result: run and claim are in it, so that a lost claim never overwrites a winner's (D34). */
export function resultKey(
  task: { id: string; run: number; claim: string; createdAt: Date },
  format: ResultFormat,
): string {
  return `${resultPrefix(task)}${task.run}-${task.claim}.${extensions[format]}`
}

/** What the keys of all results of a task begin with, those included that their workers did not live to record. */
export const resultPrefix = ({ id, createdAt }: { id: string; createdAt: Date }): string =>
  `results/${yearMonth(createdAt)}/${id}/`

/** What a downloaded result is called. */
export const resultFileName = (taskId: string, format: ResultFormat): string => `${taskId}.${extensions[format]}`

/** What a result's key says of it. Undefined: the key is none of a result. */
export function parseResultKey(key: string): { taskId: string; format: ResultFormat } | undefined {
  const [, taskId, extension] = /^results\/\d{4}\/\d{2}\/([^/]+)\/[^/]+\.(\w+)$/.exec(key) ?? []
  const format = (Object.keys(extensions) as ResultFormat[]).find((each) => extensions[each] === extension)
  return taskId === undefined || format === undefined ? undefined : { taskId, format }
}
