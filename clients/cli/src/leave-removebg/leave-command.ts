// matte leave-removebg: finds and changes uses of remove.bg in a code base, and checks that a Matte answers alike.
import type { Command } from 'commander'
import { type ExitCode, exitCodes } from '../exit-codes.ts'
import { plural, reasonOf } from '../print/format.ts'
import { createOutput, type Output, type OutputOptions } from '../print/output.ts'
import { withOutput } from '../session.ts'
import { checkService } from './check/check-service.ts'
import { readCheckTarget } from './check/check-target.ts'
import { creditsMax } from './check/expectations.ts'
import type { Use } from './scan/find-uses.ts'
import { type FileUses, type Scan, scanFolder, writeChanges } from './scan/scan-folder.ts'
import { findServiceUrl, missingUrl } from './service-url.ts'

type LeaveOptions = OutputOptions & {
  readonly url?: string
  readonly write?: boolean
  readonly check?: string[]
}

const help = `
Without --write nothing is changed. Binaries, files above 4 MiB or without write permission, links, lock files, .git,
node_modules and other folders of installed packages are never touched.

  matte leave-removebg src/ --url https://matte.example.com            print file, line and change
  matte leave-removebg src/ --url https://matte.example.com --write    make the changes; look at them with git diff
  MATTE_API_KEY=… matte leave-removebg --check https://matte.example.com

--check costs up to ${creditsMax} credits. Other people on this machine can read a key among the arguments, so prefer
MATTE_API_KEY, or - to read it from stdin.

Exit codes: 0 nothing is left to write, or every check passed; 1 --write has something to change, a file could not be
read or written, or a check failed; 2 wrong arguments; 3 the key is missing or refused; 4 the service has no door for
remove.bg; 5 the service cannot be reached.`

export function addLeaveCommand(program: Command): void {
  withOutput(program.command('leave-removebg').description('move a code base from remove.bg to Matte'))
    .argument('[folder]', 'code base to search (default: the current folder)')
    .option('--url <url>', 'the Matte to move to (default: MATTE_BASE_URL, or the profile)')
    .option('--write', 'make the changes')
    .option('--check <url-and-key...>', 'send requests to this Matte and compare responses with those of remove.bg')
    .addHelpText('after', help)
    .action(async (folder: string | undefined, { check, url, write = false, ...output }: LeaveOptions) => {
      const out = createOutput(output)
      process.exitCode =
        check === undefined
          ? await leave(folder ?? '.', { url, write }, out)
          : await checkService(await readCheckTarget(check, { folder, write }), out)
    })
}

type Wanted = { readonly url: string | undefined; readonly write: boolean }

async function leave(folder: string, { url, write }: Wanted, out: Output): Promise<ExitCode> {
  const serviceUrl = await findServiceUrl(url)
  if (write && serviceUrl === undefined) throw missingUrl()
  const scan = await scanFolder(folder, serviceUrl)
  const failures = write ? await writeAll(folder, scan, out) : new Set<string>()
  const rows = scan.files.flatMap(({ file, uses }) =>
    uses.filter(isFirstOfLine).map(({ line, kind, found, change, replacement }) => {
      const written = write && replacement !== undefined && !failures.has(file)
      return { file, line, kind, found, change, byHand: replacement === undefined, written }
    }),
  )
  out.table(
    rows,
    [
      { title: 'place', value: ({ file, line }) => `${file}:${line}` },
      { title: 'use', value: ({ kind }) => kind },
      { title: 'found', value: ({ found }) => found },
      {
        title: 'change',
        value: ({ change, byHand, written }) => (byHand ? change : `${written ? '✓' : '→'} ${change}`),
      },
    ],
    `No use of remove.bg in ${plural(scan.searched, 'file')}.`,
  )
  for (const reason of scan.unread) out.note(`not read: ${reason}`)
  for (const reason of scan.leftAlone) out.note(`left alone: ${reason}`)
  if (rows.length > 0) out.note(summarize(scan, { write, serviceUrl, failures }))
  const isLeft = rows.some(({ byHand, written, kind }) => !written && (!byHand || kind === 'endpoint'))
  return isLeft || scan.unread.length > 0 ? exitCodes.someFailed : exitCodes.ok
}

/** A line of a CI file names a secret several times. */
const isFirstOfLine = ({ line, found }: Use, at: number, uses: readonly Use[]): boolean =>
  uses[at - 1]?.line !== line || uses[at - 1]?.found !== found

const isWritable = ({ uses }: FileUses): boolean => uses.some(({ replacement }) => replacement !== undefined)

/** Returns the files that could not be written. */
async function writeAll(folder: string, { files }: Scan, out: Output): Promise<Set<string>> {
  const failures = new Set<string>()
  for (const uses of files.filter(isWritable)) {
    await writeChanges(folder, uses).catch((error: unknown) => {
      failures.add(uses.file)
      out.note(`not written: ${uses.file}: ${reasonOf(error)}`)
    })
  }
  return failures
}

type Done = {
  readonly write: boolean
  readonly serviceUrl: string | undefined
  readonly failures: ReadonlySet<string>
}

function summarize({ files }: Scan, { write, serviceUrl, failures }: Done): string {
  const uses = files.flatMap((file) => file.uses)
  const writable = files.filter(({ file }) => !failures.has(file)).flatMap((file) => file.uses)
  const changes = writable.filter(({ replacement }) => replacement !== undefined).length
  const byHand = plural(uses.length - changes, 'place is', 'places are')
  const total = `\n${plural(uses.length, 'use')} of remove.bg in ${plural(files.length, 'file')}: `
  if (serviceUrl === undefined) return `${total}add --url https://matte.example.com to see the changes.`
  const made = `${plural(changes, 'change')} ${write ? 'written' : 'to write (add --write)'}`
  return `${total}${made}; ${byHand} left to you. See docs/leaving-remove-bg.md.`
}
