// Results that the manifest of a folder records. The client writes its own lines into the same file: they name the
// tasks, so no image is paid twice. The lines here name the files, so a finished image is not even read again.
//
// `saving`  written before the file gets its name, so a later run knows that the file is its own.
// `saved`   the file is complete.
import { createHash } from 'node:crypto'
import { existsSync, statSync } from 'node:fs'
import type { Stamp } from './sources.ts'

export const manifestName = '.matte-manifest.jsonl'

export type ResultLine = {
  /** Path of the result below the folder of the manifest. */
  readonly result: string
  readonly state: 'saving' | 'saved'
  readonly input: string
  /** Absent for URLs. */
  readonly stamp?: Stamp | undefined
  /** SHA-256 of the input; absent for URLs. */
  readonly sha256?: string | undefined
  /** Hash of the options that change the result. */
  readonly options: string
  readonly resultBytes: number
  readonly taskId: string
}

/** The last line of each result. Lines of the client, and one that a crash tore, are left out. */
export function parseResults(text: string): Map<string, ResultLine> {
  const lines = text.split('\n').flatMap((line) => {
    try {
      const value = JSON.parse(line)
      return typeof value?.result === 'string' ? [value as ResultLine] : []
    } catch {
      return []
    }
  })
  return new Map(lines.map((line) => [line.result, line]))
}

export type Wanted = {
  readonly path: string
  readonly stamp: Stamp | undefined
  readonly options: string
  readonly overwrite: boolean
}

export type Decision =
  | { readonly action: 'skip'; readonly reason: string }
  /** `replace`: the file that exists may be replaced. */
  | { readonly action: 'cut'; readonly replace: boolean; readonly because: string }

/** Decides without reading the image. `resultBytes`: size of the file at the result's path; undefined if there is none. */
export function decide(known: ResultLine | undefined, wanted: Wanted, resultBytes: number | undefined): Decision {
  const { overwrite, stamp, options } = wanted
  if (resultBytes === undefined) return { action: 'cut', replace: known !== undefined || overwrite, because: 'new' }
  if (known === undefined) {
    return overwrite
      ? { action: 'cut', replace: true, because: '--overwrite' }
      : { action: 'skip', reason: 'the result exists; add --overwrite to replace it' }
  }
  if (known.state !== 'saved' || known.resultBytes !== resultBytes) {
    return { action: 'cut', replace: true, because: 'an earlier run was interrupted' }
  }
  if (known.options !== options) return { action: 'cut', replace: true, because: 'other options' }
  if (!isSameStamp(known.stamp, stamp)) return { action: 'cut', replace: true, because: 'the image has changed' }
  return overwrite ? { action: 'cut', replace: true, because: '--overwrite' } : { action: 'skip', reason: 'done' }
}

const isSameStamp = (one: Stamp | undefined, other: Stamp | undefined): boolean =>
  one?.sizeBytes === other?.sizeBytes && one?.modifiedMs === other?.modifiedMs

/** A copy of an image has another time, but is the same image. */
export const isSameImage = (known: ResultLine | undefined, sha256: string, options: string): boolean =>
  known?.state === 'saved' && known.sha256 === sha256 && known.options === options

export const hashOf = (data: string | Uint8Array): string => createHash('sha256').update(data).digest('hex')

export const sizeOfFile = (path: string): number | undefined => (existsSync(path) ? statSync(path).size : undefined)

export const hashOptions = (options: object): string => hashOf(JSON.stringify(options))
