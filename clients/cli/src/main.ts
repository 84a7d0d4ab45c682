import { version } from 'matte-client'

process.stdout.write(`${version}\n`)
