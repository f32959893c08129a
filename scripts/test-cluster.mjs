// npm test -- --project cluster: runs test/cluster in a Kubernetes cluster of one node on this machine, with real kubelet, containers,
// Services and DNS. Needs root on Linux; programs that are missing are installed or built. Arguments are passed to
// vitest, e.g. `npm test -- --project cluster central`.

import { execFileSync } from 'node:child_process'
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { baseImages, buildImage, dockerOf, ENVOY_IMAGE, startEngine } from './containers.mjs'
import {
  conformanceSuite,
  echoServer,
  suiteDefinitions,
  suiteImages,
} from './gateway-api-suite.mjs'
import { goProgram } from './go-program.mjs'
import { findHelm } from './helm.mjs'
import { aptInstall, attempt, onPath } from './install.mjs'
import { etcd, LDFLAGS } from './kubernetes.mjs'
import { runScript } from './runtime.mjs'
import { setup } from './setup.mjs'
import { SetupError } from './setup-error.mjs'
import { root } from './stale.mjs'
import { runVitest } from './vitest.mjs'

const say = (text) => process.stderr.write(`test:cluster: ${text}\n`)

const PAUSE_IMAGE = 'gatehouse-test/pause'

/** Folders that the cluster's programs write to; the cluster has its own. */
const PRIVATE = ['/run/netns', '/run/containerd', '/var/lib/kubelet', '/var/lib/cni']

await runScript(async () => {
  if (process.platform !== 'linux' || process.getuid() !== 0)
    throw new SetupError('test:cluster needs root on Linux: it starts a kubelet and containers')
  await setup()
  const programs = {
    GATEHOUSE_TEST_KUBE: kube('kube', '.'),
    GATEHOUSE_TEST_COREDNS: dns(),
    GATEHOUSE_TEST_ETCD: etcd(),
    GATEHOUSE_TEST_HELM: findHelm(say),
    GATEHOUSE_TEST_CNI: networkPlugins(),
    GATEHOUSE_TEST_GATEWAY_API: suiteDefinitions(),
    GATEHOUSE_TEST_GATEWAY_API_SUITE: conformanceSuite(say),
  }
  for (const [name, package_] of [
    ['containerd', 'containerd'],
    ['ip', 'iproute2'],
    ['nft', 'nftables'],
  ])
    if (onPath(name) === undefined) aptInstall(name, package_, say)
  // Short: paths of sockets have at most 108 bytes.
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-cluster-'))
  try {
    await saveImages(folder)
    return await runTests(folder, { ...process.env, ...programs, GATEHOUSE_TEST_CLUSTER: folder })
  } finally {
    cleanUp(folder)
  }
})

function kube(name, part) {
  const module = join(root, 'test/cluster/kube')
  return goProgram({ name, module, part, ldflags: LDFLAGS, takes: 'three to five minutes', say })
}

function dns() {
  return goProgram({ name: 'coredns', module: join(root, 'test/cluster/dns'), say })
}

/** Returns the folder of the CNI plugins. */
function networkPlugins() {
  const find = () =>
    ['/usr/lib/cni', '/opt/cni/bin'].find((folder) => existsSync(join(folder, 'ptp')))
  if (find() === undefined) aptInstall('CNI plugins', 'containernetworking-plugins', say)
  return find()
}

/** Saves the images of the cluster's pods in the folder, in one file. */
async function saveImages(folder) {
  const engine = await startEngine(say)
  try {
    const { findEnvoy } = await import('../dist/cli/run-envoy/find-envoy.js')
    const bases = baseImages(engine, await findEnvoy({ onNote: say }), say)
    const args = { NODE_IMAGE: bases.node, RUNTIME_IMAGE: bases.runtime }
    buildImage(engine, { target: 'gatehouse', image: 'gatehouse', args }, say)
    const { options } = dockerOf(engine)
    const docker = (...args) =>
      execFileSync('docker', args, { ...options, stdio: ['ignore', 'ignore', 2] })
    const { echo, others } = suiteImages()
    const own = [
      ['pause', kube('pause', './pause'), [PAUSE_IMAGE, ...others]],
      ['echo', echoServer(say), echo],
    ]
    for (const [name, program, tags] of own) {
      const context = join(folder, name)
      mkdirSync(context)
      copyFileSync(program, join(context, 'program'))
      writeFileSync(
        join(context, 'Dockerfile'),
        'FROM scratch\nCOPY program /program\nENTRYPOINT ["/program"]\n',
      )
      docker('build', '--quiet', ...[...tags].flatMap((tag) => ['--tag', tag]), context)
    }
    const images = ['gatehouse', ENVOY_IMAGE, PAUSE_IMAGE, ...echo, ...others]
    docker('save', '--output', join(folder, 'images.tar'), ...images)
  } finally {
    engine.stop()
  }
}

/** Runs vitest in namespaces whose end also ends every program of the cluster. */
async function runTests(folder, env) {
  const lines = [
    'mount --make-rprivate /',
    ...PRIVATE.map((path) => `mkdir -p ${path} && mount -t tmpfs tmpfs ${path}`),
    'mount --make-shared /run/netns',
    // Without exec: the shell collects the processes that containers leave.
    '"$@"',
    'exit $?',
  ]
  const namespaces = ['--net', '--mount', '--pid', '--fork', '--kill-child', '--mount-proc']
  const within = ['unshare', ...namespaces, 'sh', '-ec', lines.join('\n'), 'sh']
  say('no CNI plugin here enforces NetworkPolicies: only what they select is tested')
  const args = ['run', '--project', 'cluster', ...process.argv.slice(2)]
  const status = await runVitest(args, { env, within })
  if (status === 0) for (const log of logsIn(folder)) rmSync(log)
  else say(`logs of the cluster's programs: ${folder}`)
  return status
}

function logsIn(folder) {
  return readdirSync(folder)
    .filter((name) => name.endsWith('.log'))
    .map((name) => join(folder, name))
}

/** Removes everything but logs, and the control groups of the pods. */
function cleanUp(folder) {
  for (const name of readdirSync(folder))
    if (!name.endsWith('.log')) rmSync(join(folder, name), { recursive: true })
  if (readdirSync(folder).length === 0) rmSync(folder, { recursive: true })
  const find = ['/sys/fs/cgroup', '-depth', '-path', `*/${basename(folder)}*`, '-type', 'd']
  attempt('find', [...find, '-exec', 'rmdir', '{}', '+'], {
    trouble: `control groups of pods could not be removed: /sys/fs/cgroup/*/${basename(folder)}`,
  })
}
