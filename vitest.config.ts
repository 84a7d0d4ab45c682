import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { configDefaults, defineConfig } from 'vitest/config'

/** Folders of tests against real servers. `make test` excludes files named .faults.test.ts. */
const behaviour = '{api,app,controller,core,dispatcher,local,models}'
const faults = '**/*.faults.test.ts'
/** Tests of the chart that need an API server. */
const chartOnCluster = ['test/chart/restricted.test.ts', 'test/chart/lint/conform.test.ts']

/** The part of the clients' conformance suite in `make test`. */
const clientsCore = 'clients/conformance/core.test.ts'

const onServers = {
  globalSetup: 'test/support/global-setup.ts',
  // Cache of compiled code for the hundreds of processes that tests start; Node keys it by content and version.
  env: { NODE_COMPILE_CACHE: join(tmpdir(), 'matte-compile-cache') },
  // Bounds against hanging, not measures of speed: an inference takes seconds on a busy machine.
  testTimeout: 120_000,
  hookTimeout: 180_000,
  // Files share four real servers, which need cores too. Two workers keep two cores busy; more only wait longer.
  maxWorkers: Math.max(2, Math.min(4, availableParallelism() - 2)),
}

/** Files share processes and loaded modules, and mostly wait for timers. */
const shared = { isolate: false, maxWorkers: Math.max(3, Math.min(4, availableParallelism())) }

export default defineConfig({
  test: {
    // Processes, not threads: unloading native state of sharp and gRPC with a thread can crash.
    pool: 'forks',
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: [
            '{api,clients,controller,dispatcher,local,protos}/**/src/**/*.test.ts',
            'api/console/*.test.ts',
            'docs/{generate,site}/**/*.test.ts',
            'test/{bench,house,runner,sim,support,torture}/**/*.test.ts',
            'test/cluster/{account,page}/*.test.ts',
            'test/image/{dockerfiles,licences}.test.ts',
          ],
          // These start the command line as a process, dozens of times.
          exclude: [...configDefaults.exclude, 'clients/**/*.wire.test.ts'],
          testTimeout: 10_000,
          isolate: false,
        },
      },
      {
        extends: true,
        // Separate, because the worker's modules disable SVG input of sharp, which these tests need.
        test: { name: 'quality', include: ['test/quality/**/*.test.ts'], testTimeout: 10_000 },
      },
      {
        extends: true,
        test: {
          ...onServers,
          name: 'int',
          include: [`test/${behaviour}/**/*.test.ts`, clientsCore],
          exclude: [faults],
          ...shared,
        },
      },
      {
        extends: true,
        // Clients of both languages and the command line against a running service.
        test: {
          ...onServers,
          name: 'clients',
          include: ['clients/conformance/**/*.test.ts', 'clients/cli/**/*.wire.test.ts'],
          exclude: [clientsCore],
        },
      },
      {
        extends: true,
        // The console in a browser, against a whole service per file.
        test: {
          ...onServers,
          name: 'browser',
          include: ['test/browser/*.test.ts'],
          globalSetup: 'test/browser/support/global-setup.ts',
          // Each file has three processes of the service and one of the browser.
          maxWorkers: 2,
        },
      },
      {
        extends: true,
        test: {
          ...onServers,
          name: 'screenshots',
          include: ['test/browser/screenshots/*.test.ts'],
          globalSetup: 'test/browser/support/global-setup.ts',
        },
      },
      {
        extends: true,
        test: { ...onServers, name: 'faults', include: [`test/${behaviour}/**/*.faults.test.ts`] },
      },
      {
        extends: true,
        // Tests of SQL with PostgreSQL 15 instead of 18.
        test: { ...onServers, name: 'postgres-15', include: ['test/{core,dispatcher}/**/*.test.ts'], ...shared },
      },
      {
        extends: true,
        // Highly available servers: standbys, poolers and clusters that lose a member under load.
        test: { ...onServers, name: 'servers', include: ['test/servers/**/*.test.ts'] },
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
          // Bounds against hanging. One installation at a time, because a small node has no room for two.
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
          // Bounds against hanging; longer scenarios set their own.
          testTimeout: 900_000,
          hookTimeout: 300_000,
          // One scenario at a time: each prints times and needs the whole cluster.
          maxWorkers: 1,
        },
      },
    ],
  },
})
