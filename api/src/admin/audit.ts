import { exportChanges } from '@matte/people/team/audit-export'
import { toExportedEntry } from '../schemas/app/audit.ts'
import { type Command, type Given, UsageError } from './command.ts'
import { instant, requiredUuid } from './options.ts'

const exportCommand: Command = {
  name: 'audit export',
  usage: '[--from TIME] [--to TIME] [--workspace ID]',
  summary:
    'print the entries of all audit logs, or of one, as JSON lines, oldest first; --from is included and --to is not, ' +
    'by default a minute ago',
  stream: ({ db }, given) => exportAll(db, given),
}

async function* exportAll(db: Parameters<typeof exportChanges>[0], given: Given): AsyncIterable<object> {
  const { from, to } = given.values
  const span = {
    from: from === undefined ? undefined : instant(from, 'from'),
    before: to === undefined ? undefined : instant(to, 'to'),
  }
  if (span.from && span.before && span.before <= span.from) throw new UsageError('--to must be later than --from')
  const workspaceId = given.values.workspace === undefined ? undefined : requiredUuid(given, 'workspace')
  for await (const page of exportChanges(db, { workspaceId, ...span })) yield* page.map(toExportedEntry)
}

export const auditCommands: readonly Command[] = [exportCommand]
