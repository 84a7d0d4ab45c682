import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { defineConfig } from 'vitest/config'

/** Folders of tests against the real servers; a name that ends in .faults.test.ts is not part of `make test`. */
const behaviour = '{api,app,controller,core,dispatcher,local,models}'
const faults = '**/*.faults.test.ts'
/** Tests of the chart that ask an API server. */
const chartOnCluster = ['test/chart/restricted.test.ts', 'test/chart/lint/conform.test.ts']

const onServers = {
  globalSetup: 'test/support/global-setup.ts',
  // Compiled code of the processes that tests start by the hundred; Node keeps it by content and version.
  env: { NODE_COMPILE_CACHE: join(tmpdir(), 'matte-compile-cache') },
  // Bounds against hanging, not measures of speed: an inference alone takes seconds on a busy machine.
  testTimeout: 120_000,
  hookTimeout: 180_000,
  // Files share the four real servers, whose work must fit beside them. Two keep two cores busy; more only
  // makes each wait longer.
  maxWorkers: Math.max(2, Math.min(4, availableParallelism() - 2)),
}

/** Files share processes and loaded modules, and wait for timers more than for a core. */
const shared = { isolate: false, maxWorkers: Math.max(3, Math.min(4, availableParallelism())) }

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
            'test/{bench,house,runner,sim,support,torture}/**/*.test.ts',
            'test/cluster/{account,page}/*.test.ts',
            'test/image/{dockerfiles,licences}.test.ts',
          ],
          testTimeout: 10_000,
          isolate: false,
        },
      },
      {
        extends: true,
        // Apart from the others: the worker's modules, once loaded, keep sharp from reading SVG, which these draw.
        test: { name: 'quality', include: ['test/quality/**/*.test.ts'], testTimeout: 10_000 },
      },
      {
        extends: true,
        test: {
          ...onServers,
          name: 'int',
          include: [`test/${behaviour}/**/*.test.ts`],
          exclude: [faults],
          ...shared,
        },
      },
      {
        extends: true,
        test: { ...onServers, name: 'faults', include: [`test/${behaviour}/**/*.faults.test.ts`] },
      },
      {
        extends: true,
        // Tests of SQL once more, with PostgreSQL 15 in place of 18.
        test: { ...onServers, name: 'postgres-15', include: ['test/{core,dispatcher}/**/*.test.ts'], ...shared },
      },
      {
        extends: true,
        // The operator against an API server.
        test: { ...onServers, name: 'kube', include: ['test/kube/**/*.test.ts'] },
      },
      {
        extends: true,
        // Alerts and dashboards in a Prometheus that scrapes the service.
        test: { ...onServers, name: 'live', include: ['test/{alerts,dashboards}/**/*.test.ts'] },
      },
      {
        extends: true,
        test: {
          name: 'chart',
          include: ['test/chart/**/*.test.ts'],
          exclude: chartOnCluster,
          testTimeout: 600_000,
          hookTimeout: 600_000,
          maxWorkers: 2,
        },
      },
      {
        extends: true,
        test: {
          name: 'chart-on-cluster',
          include: [...chartOnCluster, 'test/image/image.test.ts'],
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
