// PostgreSQL refuses to run as root. Where this program is root, the server runs as another user of the machine:
// `postgres` if there is one, else `nobody`. No user is created: local mode changes nothing outside its folder.
import { statSync } from 'node:fs'
import { dirname } from 'node:path'
import { runCommand } from '../install/run-command.ts'

type User = { readonly name: string; readonly uid: number; readonly gid: number }

/** Undefined when this program is not root and needs no other user. @throws Error when root finds no other user */
export async function unprivilegedUser(): Promise<User | undefined> {
  if (process.getuid?.() !== 0) return undefined
  for (const name of ['postgres', 'nobody']) {
    const ids = await Promise.all([runCommand('id', ['-u', name]), runCommand('id', ['-g', name])]).catch(() => [])
    const [uid, gid] = ids.map(Number)
    if (uid && gid) return { name, uid, gid }
  }
  throw new Error('PostgreSQL refuses to run as root, and there is no user "postgres" or "nobody" to run it as.')
}

/** True when this user may enter every folder on the way to the path. */
export function canReach(path: string, { uid, gid }: User): boolean {
  for (let dir = dirname(path); ; dir = dirname(dir)) {
    const stat = statSync(dir)
    const shift = stat.uid === uid ? 6 : stat.gid === gid ? 3 : 0
    if (((stat.mode >> shift) & 1) === 0) return false
    if (dir === '/') return true
  }
}

/**
 * A command that runs `command` as the user although it lies below a folder which that user cannot enter (a checkout
 * in /root): with the one capability to read and enter folders, and no other.
 */
export function withReadAccess({ uid, gid }: User, command: string, args: readonly string[]): [string, string[]] {
  const only = '-all,+dac_read_search'
  const caps = [`--inh-caps=${only}`, `--ambient-caps=${only}`, `--bounding-set=${only}`]
  // Without the secure bit the kernel leaves capabilities out of access(2), by which initdb looks for its companions.
  const identity = [`--reuid=${uid}`, `--regid=${gid}`, '--clear-groups', '--securebits=+no_setuid_fixup']
  return ['setpriv', [...identity, ...caps, '--', command, ...args]]
}
