// Stands in for node.ts where there are no files: browsers and workers.
import { MatteError } from '../error.ts'

const refuse = (): never => {
  throw new MatteError('CLIENT_INPUT', 'There are no files here. Pass a Blob, bytes, a stream or an http(s) URL.')
}

export const openFile: typeof import('./node.ts').openFile = refuse
export const saveFile: typeof import('./node.ts').saveFile = refuse
export const openManifestFile: typeof import('./node.ts').openManifestFile = refuse
