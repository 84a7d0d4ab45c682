// matte mcp: a Model Context Protocol server on stdin and stdout. Its code is loaded only when it runs.
import type { Command } from 'commander'
import { type CommonOptions, connect, withProfile } from '../session.ts'

const setUp = `
In the configuration of an assistant:
  { "mcpServers": { "matte": { "command": "npx", "args": ["matte-cli", "mcp", "--allow", "/home/me/photos"] } } }`

export type McpOptions = CommonOptions & { readonly allow: string[]; readonly allowPrivateUrls?: boolean }

export function addMcpCommand(program: Command): void {
  withProfile(
    program.command('mcp').description('serve assistants by the Model Context Protocol, over stdin and stdout'),
  )
    .option(
      '--allow <dir>',
      'folder that the assistant may read and write; repeat it for more (default: the current one)',
      (dir: string, dirs: string[]) => [...dirs, dir],
      [],
    )
    .option('--allow-private-urls', 'let the assistant fetch images from private networks')
    .addHelpText('after', setUp)
    .action(async (options: McpOptions) => {
      const { matte } = await connect({ ...options, quiet: true })
      const { serve } = await import('./server.ts')
      const { allow, allowPrivateUrls = false } = options
      await serve(matte, { folders: allow.length === 0 ? ['.'] : allow, allowPrivateUrls })
    })
}
