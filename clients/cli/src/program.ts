// The command tree, and what happens to its errors.
import { Command, CommanderError } from 'commander'
import { addCompletionCommand } from './completion/completion-command.ts'
import { addCutCommand } from './cut/cut-command.ts'
import { addDoctorCommand } from './doctor/doctor-command.ts'
import { type ExitCode, exitCodeMeanings, exitCodes } from './exit-codes.ts'
import { addDoorCommand } from './leave-removebg/door/door-command.ts'
import { addLeaveCommand } from './leave-removebg/leave-command.ts'
import { addMcpCommand } from './mcp/mcp-command.ts'
import { exitCodeOfError, renderError, showError } from './print/error.ts'
import { addProfileCommands } from './profile/profile-commands.ts'
import { addBatchCommands } from './tasks/batch-commands.ts'
import { addTaskCommands } from './tasks/task-commands.ts'
import { version } from './version.ts'
import { addListenCommands } from './webhooks/listen-commands.ts'
import { addWebhookCommands } from './webhooks/webhook-commands.ts'
import { addWorkspaceCommands } from './workspace-commands.ts'

const firstSteps = `
First steps:
  matte login                                store an API key
  matte cut photo.jpg                        write photo-cutout.png
  matte cut photos/ --out cut/               a whole folder; run it again to continue
  matte doctor                               find out why something does not work

Environment: MATTE_API_KEY and MATTE_BASE_URL are used before a profile; MATTE_PROFILE names one.

Exit codes:
${exitCodeMeanings.map(([code, meaning]) => `  ${String(code).padStart(3)}  ${meaning}`).join('\n')}`

export function buildProgram(): Command {
  const program = new Command('matte')
    .description('Removes the backgrounds of images with a Matte service.')
    .version(version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print this help')
    .addHelpText('after', firstSteps)
    .configureHelp({ showGlobalOptions: false })
    .showHelpAfterError('Add --help for the options.')
    .exitOverride()
  addCutCommand(program)
  addProfileCommands(program)
  addDoctorCommand(program)
  addTaskCommands(program)
  addBatchCommands(program)
  const webhooks = program.command('webhooks').description('webhook endpoints, deliveries, and events on this machine')
  addListenCommands(webhooks)
  addWebhookCommands(webhooks)
  addWorkspaceCommands(program)
  addLeaveCommand(program)
  addDoorCommand(program)
  addMcpCommand(program)
  addCompletionCommand(program)
  return program
}

/** Runs one command line. Errors are printed here, and nowhere else. */
export async function run(args: readonly string[]): Promise<ExitCode> {
  const program = buildProgram()
  try {
    if (args.length === 0) program.outputHelp()
    else await program.parseAsync(args, { from: 'user' })
    return (process.exitCode ?? exitCodes.ok) as ExitCode // Only exit codes of this program are assigned.
  } catch (error) {
    // Commander has printed its own errors.
    if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.ok : exitCodes.usage
    printError(error, args.includes('--json'))
    return exitCodeOfError(error)
  }
}

function printError(error: unknown, isJson: boolean): void {
  const shown = showError(error)
  process.stderr.write(`${isJson ? JSON.stringify({ error: shown }) : renderError(shown)}\n`)
}
