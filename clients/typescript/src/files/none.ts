// Stands in for node.ts where there are no files: browsers and workers.

import type { ManifestStore } from '../options.ts'
import { inputError, type Source } from '../source.ts'

const refuse = (): never => {
  throw inputError('There are no files here. Pass a Blob, bytes, a stream or an http(s) URL.')
}

export const openFile = async (_path: string | URL): Promise<Source> => refuse()
export const saveFile = async (_path: string, _bytes: Uint8Array): Promise<void> => refuse()
export const openManifestFile = async (_path: string): Promise<ManifestStore> => refuse()
