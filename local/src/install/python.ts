import { runCommand } from './run-command.ts'

type Python = { readonly command: string; readonly version: string }

/**
 * The interpreter whose pip fetches wheels and whose library the inference server loads: `PYTHON`, else the first that
 * fits, as in preflight.sh and triton/install.sh. @throws Error when there is none
 */
export async function findPython(): Promise<Python> {
  const { PYTHON } = process.env
  const candidates = PYTHON ? [PYTHON] : ['python3', 'python3.12', 'python3.11', 'python3.10']
  for (const command of candidates) {
    const script = 'import pip, sys; print("%d.%d" % sys.version_info[:2])'
    const version = (await runCommand(command, ['-c', script]).catch(() => '')).trim()
    if (['3.10', '3.11', '3.12'].includes(version)) return { command, version }
  }
  throw new Error(`No Python 3.10, 3.11 or 3.12 with pip among ${candidates.join(', ')}: install one, or set PYTHON.`)
}
