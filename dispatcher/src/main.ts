import { trustAuthorities } from '@matte/core/runtime/authorities'
import { runMain, runServices } from '@matte/core/runtime/main'
import { readConfig } from './config.ts'
import { buildServices } from './services.ts'

await runMain(async () => {
  const config = readConfig(process.env)
  trustAuthorities(config.trustedCaFile)
  const { logger, services } = await buildServices(config)
  await runServices({ logger, services, stopWithinMs: config.stopWithinMs })
})
