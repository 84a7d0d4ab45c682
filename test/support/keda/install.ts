// KEDA's operator and metrics server, built once from the pinned Go module. `node test/support/keda/install.ts` prints
// their folder for $PATH.
import { join } from 'node:path'
import { installPart } from '@matte/local/install/install-part'
import { runCommand } from '@matte/local/install/run-command'
import { type Say, sayToTerminal, sayWhile } from '@matte/local/say'
import { fetchKedaModule, kedaModule } from './definitions.ts'

const version = kedaModule.split('@').at(-1)

/** Folder with the programs `keda` and `keda-adapter`. @throws Error without Go or its proxy */
export const installKedaPrograms = (say: Say): Promise<string> =>
  installPart(`keda-${version}`, async (aside) => {
    const module = fetchKedaModule()
    if (module === undefined) throw new Error(`Go cannot fetch ${kedaModule}`)
    const env = { ...process.env, CGO_ENABLED: '0' }
    await sayWhile(say, `building KEDA ${version} (half an hour on two cores, once)`, async () => {
      for (const [name, source] of [
        ['keda', './cmd/operator'],
        ['keda-adapter', './cmd/adapter'],
      ] as const) {
        const out = join(aside, name)
        await runCommand('go', ['build', '-C', module, '-trimpath', '-ldflags=-s -w', '-o', out, source], { env })
      }
    })
  })

if (process.argv[1] === import.meta.filename) process.stdout.write(`${await installKedaPrograms(sayToTerminal)}\n`)
