#!/usr/bin/env node
// Entry point of `matte`.
import { run } from './program.ts'

// A reader such as `head` may close the pipe early; that is its right and no error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  process.exit(error.code === 'EPIPE' ? 0 : 1)
})

process.exitCode = await run(process.argv.slice(2))
