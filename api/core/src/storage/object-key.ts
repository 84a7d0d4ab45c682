import { orderedId } from '../ordered-id.ts'

/** Key of a new upload, with the last 100 characters `[A-Za-z0-9._-]` of the file name. */
export function newUploadKey(fileName: string, at: Date): string {
  const name = fileName
    .normalize('NFKD')
    .replace(/[^A-Za-z0-9._-]+/g, '-')
    .slice(-100)
  return `private-uploads/${yearMonth(at)}/${orderedId()}-${name}`
}

/** Name of the uploaded file, as far as the key keeps it. */
export const uploadFileName = (key: string): string => key.replace(/^.*\/(?:[0-9a-f-]{36}-)?/, '')

/** The key as a name of its photo in the history, once the photo is erased. */
export const keyWithoutFileName = (key: string): string => key.replace(/^(.*\/[0-9a-f-]{36})-[^/]*$/, '$1')

/** One key per invoice, so deletion needs no list. */
export const invoicePdfKey = (invoice: { readonly id: string; readonly issued_at: Date }): string =>
  `invoices/${yearMonth(invoice.issued_at)}/${invoice.id}.pdf`

/** False for the empty string and URLs, which are never fetched (D22). */
export const isKeyForm = (text: string): boolean => text !== '' && !text.includes('://')

export const yearMonth = (at: Date): string => at.toISOString().slice(0, 7).replace('-', '/')

const extensions = { png: 'png', webp: 'webp', jpeg: 'jpg' } as const
type ResultFormat = keyof typeof extensions

/** Includes run and claim, so a lost claim never overwrites the current one's result (D34). */
export function resultKey(
  task: { id: string; run: number; claim: string; createdAt: Date },
  format: ResultFormat,
): string {
  return `${resultPrefix(task)}${task.run}-${task.claim}.${extensions[format]}`
}

/** Prefix of all results of a task, including unrecorded ones of crashed workers. */
export const resultPrefix = ({ id, createdAt }: { id: string; createdAt: Date }): string =>
  `results/${yearMonth(createdAt)}/${id}/`

/** ZIP of colours and matte beside a result, under the same prefix. */
export const partsKey = (key: string): string => key.replace(/\.\w+$/, '.zip')

/** Preview of a result. Below the prefix of its task, wherever the result is, so retention deletes both. */
export const previewKey = (task: { id: string; createdAt: Date; resultKey: string }): string =>
  `${resultPrefix(task)}${task.resultKey.replace(/^.*\//, '').replace(/\.\w+$/, '')}.preview.webp`

export const resultFileName = (taskId: string, format: ResultFormat): string => `${taskId}.${extensions[format]}`

export function parseResultKey(key: string): { taskId: string; format: ResultFormat } | undefined {
  const [, taskId, extension] = /^results\/\d{4}\/\d{2}\/([^/]+)\/[^/]+\.(\w+)$/.exec(key) ?? []
  const format = (Object.keys(extensions) as ResultFormat[]).find((each) => extensions[each] === extension)
  return taskId === undefined || format === undefined ? undefined : { taskId, format }
}
