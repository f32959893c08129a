// npm test -- --project parties: installs missing third-party programs (packages, Chromium, Keycloak, LiteLLM, Presidio, h2spec,
// promtool, an OpenTelemetry Collector, a client of grpc-go), then runs test/parties, on Linux in a network namespace of
// its own. Arguments are passed to vitest, e.g. `npm test -- --project parties keycloak`; then only the programs that suite
// needs are installed.

import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { goProgram } from './go-program.mjs'
import { findH2spec } from './h2spec.mjs'
import { aptInstall, attempt, cacheFolder, onPath } from './install.mjs'
import { hasNamespaces, ownNetwork } from './network.mjs'
import { installPartiesPackages } from './parties-packages.mjs'
import { clientsPython } from './python-environment.mjs'
import { installPythonProgram } from './python-program.mjs'
import { runScript } from './runtime.mjs'
import { setup } from './setup.mjs'
import { root } from './stale.mjs'
import { testEnvoy } from './test-envoy.mjs'
import { runsOf } from './test-files.mjs'
import { runVitest } from './vitest.mjs'

const KEYCLOAK = '26.7.3'
const MAVEN_PLUGIN = 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1'

const folder = join(root, 'test/parties')
const say = (text) => process.stderr.write(`parties: ${text}\n`)

const args = process.argv.slice(2)
const firstFlag = args.findIndex((arg) => arg.startsWith('-'))
const filters = firstFlag === -1 ? args : args.slice(0, firstFlag)
const flags = args.slice(filters.length)
const pathOf = (suite) => `test/parties/${suite}.test.ts`
const isRun = runsOf('parties', filters)
/** Whether vitest will run one of these files of test/parties. */
const wants = (...suites) => suites.map(pathOf).some(isRun)

/** Installs from npm's registry, as users do: it has the network of this machine, and no port of its own choice. */
const ONLINE = 'package'

await runScript(async () => {
  await setup()
  // What the suites' own set-up would fetch, while there is a network.
  clientsPython(say)
  const env = {
    ...process.env,
    GATEHOUSE_TEST_PARTIES: 'yes',
    GATEHOUSE_TEST_ENVOY: await testEnvoy(say),
  }
  if (
    wants(
      'conformance',
      'dashboard',
      'inspector',
      'keycloak-clients',
      'oidc-provider-clients',
      'status-page',
    )
  )
    installPartiesPackages()
  const withBrowser = ['browser', 'inspector', 'relay-https', 'relay-other-origin', 'status-page']
  if (wants(...withBrowser, 'keycloak-clients', 'oidc-provider-clients'))
    env.GATEHOUSE_TEST_CHROMIUM = chromium()
  if (wants('h2spec')) env.GATEHOUSE_TEST_H2SPEC = findH2spec(say)
  if (wants('promtool')) env.GATEHOUSE_TEST_PROMTOOL = promtool()
  if (wants('otel')) env.GATEHOUSE_TEST_COLLECTOR = collector()
  if (wants('grpc-go', 'grpc-go-gatehouse')) env.GATEHOUSE_TEST_GRPC_GO = grpcGo()
  if (wants('keycloak', 'keycloak-clients', 'keycloak-page'))
    env.GATEHOUSE_TEST_KEYCLOAK = keycloak()
  if (wants('litellm')) env.GATEHOUSE_TEST_LITELLM = python('litellm', 'LiteLLM', '742 MB')
  if (wants('presidio')) env.GATEHOUSE_TEST_PRESIDIO = python('presidio', 'Presidio', '415 MB')
  say(`starting ${filters.length === 0 ? 'the suites' : filters.join(', ')}`)
  const wanted = readdirSync(folder)
    .filter((file) => file.endsWith('.test.ts'))
    .map((file) => file.replace('.test.ts', ''))
    .filter((suite) => wants(suite))
  const run = async (suites, options) => {
    if (suites.length === 0) return 0
    const paths = suites.map(pathOf)
    const args = ['run', '--project', 'parties', '--reporter=verbose', ...paths, ...flags]
    return runVitest(args, options)
  }
  const within = hasNamespaces() ? ownNetwork([], say) : []
  const inside = wanted.filter((suite) => suite !== ONLINE)
  const online = wanted.filter((suite) => suite === ONLINE)
  return (await run(inside, { env, within })) || run(online, { env })
})

function python(name, title, size) {
  const requirements = join(folder, `python/${name}.txt`)
  return installPythonProgram({ title, size, folder: join(cacheFolder(), name), requirements, say })
}

function grpcGo() {
  return goProgram({ name: 'grpc-go-client', module: join(folder, 'go'), say })
}

function collector() {
  return goProgram({
    name: 'collector',
    module: join(folder, 'collector'),
    takes: 'about two minutes',
    say,
  })
}

function promtool() {
  return goProgram({
    name: 'promtool',
    module: join(folder, 'promtool'),
    part: 'github.com/prometheus/prometheus/cmd/promtool',
    takes: 'about five minutes',
    say,
  })
}

function chromium() {
  const names = ['chromium', 'chromium-browser', 'google-chrome']
  const found = () => names.map(onPath).find((path) => path !== undefined)
  if (found() === undefined) aptInstall('Chromium', 'chromium', say)
  return found()
}

function keycloak() {
  if (onPath('java') === undefined) aptInstall('Java', 'default-jre-headless', say)
  const home = join(cacheFolder(), `keycloak-${KEYCLOAK}-built`)
  if (existsSync(home)) return home
  if (onPath('mvn') === undefined) aptInstall('Maven', 'maven', say)
  say(`getting Keycloak ${KEYCLOAK} by Maven into ${home} (170 MB, once)`)
  const draft = `${home}.${process.pid}`
  mkdirSync(draft, { recursive: true })
  const artifact = `org.keycloak:keycloak-quarkus-dist:${KEYCLOAK}:zip`
  attempt(
    'mvn',
    ['-q', '-B', `${MAVEN_PLUGIN}:unpack`, `-Dartifact=${artifact}`, `-DoutputDirectory=${draft}`],
    // Maven leaves a folder of marker files in its working directory.
    {
      cwd: draft,
      trouble: 'Maven could not get Keycloak: see its message above; is Maven Central reachable?',
    },
  )
  const unpacked = join(draft, `keycloak-${KEYCLOAK}`)
  // Otherwise the first starts build it, several at a time in one folder.
  attempt('bash', ['bin/kc.sh', 'build', '--db=dev-mem', '--cache=local'], {
    cwd: unpacked,
    trouble: 'Keycloak could not be built: see its message above',
  })
  renameSync(unpacked, home)
  rmSync(draft, { recursive: true })
  return home
}
