import { availableParallelism } from 'node:os'
import { relative } from 'node:path'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { filesLeftOut, namedIn } from './scripts/test-files.mjs'
import durations from './test/durations.json' with { type: 'json' }

// What is polled for comes, however busy the machine is; Vitest's own second is for one that is not.
const expectations = { poll: { timeout: 15_000 } }

/** Returns which files of a folder of test/ do not run, unless the command names them (scripts/test-files.mjs). */
const leftOut = (folder: string): string[] => filesLeftOut(folder, namedIn(process.argv.slice(3)))

// Processes that run tests without an Envoy. Their parent process has little to do once all modules are loaded.
const maxWorkers = availableParallelism()

// Vectors of others, from a folder that the environment names (.ci/run does); without it there is nothing to run.
const conformance =
  process.env['GATEHOUSE_WYCHEPROOF'] === undefined
    ? []
    : [{ test: { name: 'conformance', include: ['test/conformance/**/*.test.ts'], maxWorkers } }]

// Programs of other parties, which scripts/test-parties.mjs installs.
const parties =
  process.env['GATEHOUSE_TEST_PARTIES'] === undefined
    ? []
    : [
        {
          test: {
            name: 'parties',
            expect: expectations,
            include: ['test/parties/*.test.ts'],
            exclude: leftOut('parties'),
            pool: 'forks' as const,
            maxWorkers: 2,
            sequence: { groupOrder: 2 },
            testTimeout: 120_000,
            hookTimeout: 120_000,
            globalSetup: ['test/support/global-setup.ts'],
          },
        },
      ]

// Floods, soaks and long streams, which take minutes each.
const soak =
  process.env['GATEHOUSE_TEST_SOAK'] === undefined
    ? []
    : [
        {
          test: {
            name: 'soak',
            expect: expectations,
            include: ['test/soak/*.test.ts'],
            pool: 'forks' as const,
            maxWorkers: 1,
            sequence: { groupOrder: 4 },
            testTimeout: 1_800_000,
            hookTimeout: 180_000,
            globalSetup: ['test/support/global-setup.ts'],
          },
        },
      ]

// A container engine with both images, which scripts/test-containers.mjs starts and builds.
const containers =
  process.env['GATEHOUSE_TEST_COMPOSE'] === undefined
    ? []
    : [
        {
          test: {
            name: 'containers',
            expect: expectations,
            include: ['test/containers/*.test.ts'],
            exclude: leftOut('containers'),
            pool: 'forks' as const,
            maxWorkers: 1,
            sequence: { groupOrder: 5 },
            testTimeout: 120_000,
            hookTimeout: 180_000,
          },
        },
      ]

// The official conformance suite of the Gateway API, which scripts/test-gateway-api.mjs builds.
const gatewayApi =
  process.env['GATEHOUSE_TEST_GATEWAY_API_SUITE'] === undefined
    ? []
    : [
        {
          test: {
            name: 'gateway-api',
            include: ['test/gateway-api/*.test.ts'],
            pool: 'forks' as const,
            maxWorkers: 1,
            sequence: { groupOrder: 7 },
            testTimeout: 3_600_000,
            hookTimeout: 180_000,
            globalSetup: ['test/kubernetes/support/global-setup.ts'],
          },
        },
      ]

// A real API server, which scripts/test-kubernetes.mjs gets.
const kubernetes =
  process.env['GATEHOUSE_TEST_APISERVER'] === undefined
    ? []
    : [
        {
          test: {
            name: 'kubernetes',
            expect: expectations,
            include: ['test/kubernetes/*.test.ts'],
            exclude: leftOut('kubernetes'),
            pool: 'forks' as const,
            maxWorkers: 2,
            // The files of a worker share an API server (test/kubernetes/support/shared-api-server.ts).
            isolate: false,
            sequence: { groupOrder: 3 },
            testTimeout: 120_000,
            hookTimeout: 180_000,
            globalSetup: ['test/kubernetes/support/global-setup.ts'],
          },
        },
      ]

// A control plane of others, which scripts/test-mesh.mjs builds.
const mesh =
  process.env['GATEHOUSE_TEST_ENVOY_GATEWAY'] === undefined
    ? []
    : [
        {
          test: {
            name: 'mesh',
            expect: expectations,
            include: ['test/mesh/*.test.ts'],
            exclude: leftOut('mesh'),
            pool: 'forks' as const,
            // Envoy Gateway has ports of its own that cannot be chosen.
            maxWorkers: 1,
            // The files share an API server (test/kubernetes/support/shared-api-server.ts).
            isolate: false,
            sequence: { groupOrder: 6 },
            testTimeout: 120_000,
            hookTimeout: 180_000,
            globalSetup: ['test/kubernetes/support/global-setup.ts'],
          },
        },
      ]

// A cluster of one node with real pods, which scripts/test-cluster.mjs starts.
const cluster =
  process.env['GATEHOUSE_TEST_CLUSTER'] === undefined
    ? []
    : [
        {
          test: {
            name: 'cluster',
            expect: expectations,
            include: ['test/cluster/*.test.ts'],
            pool: 'forks' as const,
            maxWorkers: 1,
            sequence: { groupOrder: 8 },
            testTimeout: 300_000,
            hookTimeout: 300_000,
            globalSetup: ['test/cluster/support/global-setup.ts'],
          },
        },
      ]

// Folders of the other projects.
const notUnit = [
  'golden',
  'integration',
  'conformance',
  'parties',
  'kubernetes',
  'soak',
  'containers',
  'mesh',
  'gateway-api',
  'cluster',
].map((folder) => `test/${folder}/**`)

// Unit tests that need a process of their own: some replace modules, which must not be loaded yet, and some count the
// timers or measure the memory of the process.
const isolated = [
  'test/ops/memory/held-bytes-default.test.ts',
  'test/extauthz/token/fresh-keys.test.ts',
  'test/extproc/sse/{async-webhooks,first-text,streamed-reply,tokens}.test.ts',
  'test/extproc/open-streams-memory.test.ts',
  'test/control/translate/authorities.test.ts',
  'test/wire/http2/memory.test.ts',
  'test/kit/incremental/kept-alive.test.ts',
  'test/extproc/llm/event-slices.test.ts',
  'test/kit/http/name-store.test.ts',
  'test/control/sources/files/one-change.test.ts',
  'test/control/publish/one-change.test.ts',
  'test/control/publish/slices.test.ts',
  'test/control/publish/weak-maps.test.ts',
  'test/control/workers/table-changes.test.ts',
]

// Unit tests that take long: floods, random sequences and texts, megabytes in every slice, and waits for the clock. Without
// them the unit project takes seconds.
const long = [
  'test/ops/admin/config-dump.test.ts',
  'test/extauthz/cel/oracle.test.ts',
  'test/addons/mesh/controller/probe.test.ts',
  'test/cli/demo/{llm-server,mcp-server}.test.ts',
  'test/extproc/guard/{encoding-left,held-bytes}.test.ts',
  'test/extproc/sse/{any-slices,slices}.test.ts',
  'test/control/translate/{gateway-policies,translator-sequences}.test.ts',
  'test/wire/grpc/{message-reader,turns}.test.ts',
  'test/wire/http2/{floods,fuzz,windows}.test.ts',
  'test/extproc/llm/{body-properties,body-slices,every-member,hidden}.test.ts',
  'test/extproc/sse/windows/held-channel.test.ts',
  'test/kit/http/webhook-pools.test.ts',
  'test/control/schema/decode/yaml-document.test.ts',
  'test/control/sources/files/{file-provider,folders,reader-thread,written-in-place}.test.ts',
  'test/control/publish/{incremental,many-routes}.test.ts',
  'test/xds/server/{ads-retry,responses}.test.ts',
]

// What unit tests with and without processes of their own share.
const unit = {
  expect: expectations,
  pool: 'forks' as const,
  maxWorkers,
  // Longer than what is waited for (testing/eventually.ts), so that a failure says what did not come.
  testTimeout: 90_000,
  hookTimeout: 60_000,
}

// One process runs many files and loads each module once: half of the time is saved. Tests that wait for watchers run many
// at a time.
const shared = { ...unit, isolate: false, maxConcurrency: 20 }

const seconds: Readonly<Record<string, number>> = durations

/** A file that starts programs and is not known counts as a long one, but not as one of the longest. */
const UNKNOWN_SECONDS = 15

/** How long a file takes (scripts/durations.mjs). */
function secondsOf({ moduleId, project }: TestSpecification): number {
  const known = seconds[relative(import.meta.dirname, moduleId)]
  return known ?? (PROJECTS.includes(project.name) ? 0 : UNKNOWN_SECONDS)
}

/** Projects that run beside each other, in the order of their longest files. */
const PROJECTS = ['golden', 'long', 'isolated', 'unit']

/**
 * The files of a project one after the other, because a process runs the next file only if it is of the same project; the
 * longest first, because one that starts last keeps a worker busy while the others have nothing left to do.
 */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files)
    const rank = ({ project }: TestSpecification): number => PROJECTS.indexOf(project.name)
    return sorted.sort((a, b) => rank(a) - rank(b) || secondsOf(b) - secondsOf(a))
  }
}

export default defineConfig({
  test: {
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        test: {
          ...shared,
          name: 'unit',
          include: ['test/**/*.test.ts'],
          exclude: [...notUnit, ...isolated, ...long],
        },
      },
      { test: { ...shared, name: 'long', include: long } },
      { test: { ...unit, name: 'isolated', include: isolated } },
      {
        test: {
          name: 'golden',
          expect: expectations,
          include: ['test/golden/*.test.ts'],
          pool: 'forks',
          maxWorkers,
          // Beside the unit tests: each case of xds/ is also shown to an Envoy.
          testTimeout: 90_000,
        },
      },
      ...conformance,
      ...parties,
      ...kubernetes,
      ...soak,
      ...containers,
      ...mesh,
      ...gatewayApi,
      ...cluster,
      {
        test: {
          name: 'integration',
          expect: expectations,
          include: ['test/integration/**/*.test.ts'],
          exclude: leftOut('integration'),
          pool: 'forks',
          maxWorkers: 3,
          // The files of a worker share stacks (test/support/shared-stack.ts) and modules.
          isolate: false,
          provide: { sharesStacks: true },
          // After the unit tests: groups with other workers take turns.
          sequence: { groupOrder: 1 },
          // For what hangs: a busy machine needs a minute for ten starts of Envoy.
          testTimeout: 180_000,
          hookTimeout: 180_000,
          globalSetup: ['test/support/global-setup.ts'],
          setupFiles: ['test/support/integration-setup.ts'],
        },
      },
    ],
  },
})
