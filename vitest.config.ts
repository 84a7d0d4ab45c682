import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    // Processes, not threads: sharp and gRPC keep native state that does not like to be unloaded with a thread.
    pool: 'forks',
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: ['{api,controller,dispatcher,local,protos}/**/src/**/*.test.ts', 'test/support/**/*.test.ts'],
          testTimeout: 10_000,
        },
      },
      {
        extends: true,
        test: {
          name: 'int',
          include: ['test/{api,controller,dispatcher,core,models,local}/**/*.test.ts'],
          globalSetup: 'test/support/global-setup.ts',
          // Bounds against hanging, not measures of speed: an inference alone takes seconds on a busy machine.
          testTimeout: 120_000,
          hookTimeout: 180_000,
          // Files share the four real servers, whose work must fit beside them. Two keep two cores busy; more only
          // makes each wait longer.
          maxWorkers: Math.max(2, Math.min(4, availableParallelism() - 2)),
        },
      },
    ],
  },
})
