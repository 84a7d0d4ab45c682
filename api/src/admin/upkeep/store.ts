import { type CopyStore, copyObjects } from '@matte/core/storage/copy-objects'
import { type Command, CommandError } from '../command.ts'

const copy: Command = {
  name: 'store copy',
  usage: '',
  summary:
    'copy every object of the bucket of S3_* that is not, or not the same, in the bucket of TO_S3_*, which has to ' +
    'exist; deletes nothing',
  options: [],
  withoutDatabase: true,
  run: async ({ store, toStore }) => {
    const copied = await copyObjects(given(store, 'S3_ENDPOINT'), given(toStore, 'TO_S3_ENDPOINT'))
    return { ...copied }
  },
}

function given(store: CopyStore | undefined, variable: string): CopyStore {
  if (store === undefined) throw new CommandError(`${variable} is not set: name both stores`)
  return store
}

export const storeCommands: readonly Command[] = [copy]
