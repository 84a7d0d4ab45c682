import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
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
          include: [
            '{api,controller,dispatcher,local,protos}/**/src/**/*.test.ts',
            'docs/generate/**/*.test.ts',
            'test/{bench,house,quality,sim,support,torture}/**/*.test.ts',
            'test/cluster/{account,page}/*.test.ts',
            'test/image/{dockerfiles,licences}.test.ts',
          ],
          testTimeout: 10_000,
        },
      },
      {
        extends: true,
        test: {
          name: 'int',
          include: ['test/{alerts,api,app,controller,dashboards,dispatcher,core,kube,models,local}/**/*.test.ts'],
          globalSetup: 'test/support/global-setup.ts',
          // Compiled code of the processes that tests start by the hundred; Node keeps it by content and version.
          env: { NODE_COMPILE_CACHE: join(tmpdir(), 'matte-compile-cache') },
          // Bounds against hanging, not measures of speed: an inference alone takes seconds on a busy machine.
          testTimeout: 120_000,
          hookTimeout: 180_000,
          // Files share the four real servers, whose work must fit beside them. Two keep two cores busy; more only
          // makes each wait longer.
          maxWorkers: Math.max(2, Math.min(4, availableParallelism() - 2)),
        },
      },
      {
        extends: true,
        test: {
          name: 'chart',
          include: ['test/chart/**/*.test.ts', 'test/image/image.test.ts'],
          testTimeout: 600_000,
          hookTimeout: 600_000,
          maxWorkers: 1,
        },
      },
      {
        extends: true,
        test: {
          name: 'cluster',
          include: ['test/cluster/{,operations/}*.test.ts'],
          globalSetup: 'test/cluster/support/global-setup.ts',
          // Bounds against hanging. One installation after the other: a small node has no room for two.
          testTimeout: 900_000,
          hookTimeout: 900_000,
          maxWorkers: 1,
        },
      },
      {
        extends: true,
        test: {
          name: 'e2e',
          include: ['test/e2e/**/*.test.ts'],
          globalSetup: 'test/e2e/support/global-setup.ts',
          // Bounds against hanging; a scenario sets its own where it is to go on for longer.
          testTimeout: 900_000,
          hookTimeout: 300_000,
          // One scenario after the other: each has the cluster for itself, and times are told.
          maxWorkers: 1,
        },
      },
    ],
  },
})
