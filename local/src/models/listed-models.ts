import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

export type ListedModel = {
  /** What tasks name it by. */
  readonly modelVersion: string
  /** Its folder, which is its name in Triton. */
  readonly folder: string
  readonly isDefault: boolean
}

/** Those that the folder's `models.json` lists and that are there: ours, and what `make model-add` added. */
export function readListedModels(source: string): ListedModel[] {
  const listed = JSON.parse(readFileSync(join(source, 'models.json'), 'utf8')) as Record<string, Line>
  return Object.entries(listed)
    .filter(([, { folder }]) => existsSync(join(source, folder)))
    .map(([modelVersion, { folder, default: isDefault }]) => ({ modelVersion, folder, isDefault }))
}

type Line = { readonly folder: string; readonly default: boolean }
