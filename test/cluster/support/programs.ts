// Starts the programs of a cluster of one node, each with a log in the cluster's folder. They end with the namespaces that
// scripts/test-cluster.mjs made.

import { execFileSync, spawn } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { mkdirSync, openSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { apiClient } from '../../../testing/api-client.js'
import { eventually } from '../../../testing/eventually.js'

/** Address of the node, which pods reach as well. */
export const NODE_ADDRESS = '10.250.0.1'
export const SERVER = `https://${NODE_ADDRESS}:6443`
/** Token of the administrator. */
export const ADMIN = 'admin'

const FOLDER = process.env['GATEHOUSE_TEST_CLUSTER'] ?? ''
const PODS = '10.250.1.0/24'
const SERVICES = '10.96.0.0/16'
const PATIENCE_MS = 120_000
const file = (name: string): string => join(FOLDER, name)

export const KUBECONFIG = file('kubeconfig')

/** Resolves when pods can run and names of Services can be looked up. */
export async function startPrograms(): Promise<void> {
  prepareNetwork()
  writeFiles()
  startEtcd()
  startApiServer()
  startContainerd()
  const api = apiClient(SERVER, ADMIN)
  await eventually(() => api.call('GET', '/readyz'), PATIENCE_MS)
  startControllers()
  importImages()
  startKubelet()
  startProxy()
  startDns()
  await eventually(async () => {
    const { status } = await api.get('v1', 'Node', 'node')
    const { conditions } = status as { conditions: { type: string; status: string }[] }
    if (!conditions.some(({ type, status }) => type === 'Ready' && status === 'True'))
      throw new Error('the node is not ready')
  }, PATIENCE_MS)
  await eventually(async () => {
    const { ok } = await fetch(`http://${NODE_ADDRESS}:8181/ready`)
    if (!ok) throw new Error('CoreDNS is not ready')
  }, PATIENCE_MS)
}

function prepareNetwork(): void {
  const ip = (...args: readonly string[]): unknown => execFileSync('ip', args)
  ip('link', 'set', 'lo', 'up')
  ip('link', 'add', 'node', 'type', 'bridge')
  ip('address', 'add', `${NODE_ADDRESS}/32`, 'dev', 'node')
  ip('link', 'set', 'node', 'up')
  // Programs look for the node's address at the default route.
  ip('route', 'add', 'default', 'dev', 'node', 'src', NODE_ADDRESS)
  writeFileSync('/proc/sys/net/ipv4/ip_forward', '1')
}

function writeFiles(): void {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  writeFileSync(file('accounts.key'), privateKey.export({ type: 'pkcs8', format: 'pem' }))
  writeFileSync(file('tokens.csv'), `${ADMIN},${ADMIN},${ADMIN},"system:masters"\n`)
  writeFileSync(
    KUBECONFIG,
    JSON.stringify({
      apiVersion: 'v1',
      kind: 'Config',
      'current-context': 'test',
      clusters: [{ name: 'test', cluster: { server: SERVER, 'insecure-skip-tls-verify': true } }],
      users: [{ name: ADMIN, user: { token: ADMIN } }],
      contexts: [{ name: 'test', context: { cluster: 'test', user: ADMIN } }],
    }),
  )
}

function startEtcd(): void {
  run('etcd', 'GATEHOUSE_TEST_ETCD', ['--data-dir', file('etcd'), '--unsafe-no-fsync'])
}

/** Runs a program in the background. */
function run(name: string, variable: string, args: readonly string[]): void {
  const log = openSync(file(`${name}.log`), 'a')
  const program = process.env[variable] ?? variable
  spawn(program, args, { stdio: ['ignore', log, log] }).unref()
}

const kube = (name: string, args: readonly string[]): void =>
  run(name, 'GATEHOUSE_TEST_KUBE', [name, ...args])

function startApiServer(): void {
  kube('apiserver', [
    '--etcd-servers=http://127.0.0.1:2379',
    '--secure-port=6443',
    '--bind-address=0.0.0.0',
    `--advertise-address=${NODE_ADDRESS}`,
    `--service-cluster-ip-range=${SERVICES}`,
    `--cert-dir=${file('certificates')}`,
    `--token-auth-file=${file('tokens.csv')}`,
    '--authorization-mode=RBAC',
    '--service-account-issuer=https://kubernetes.default.svc',
    // Names of nodes have no addresses here; logs of pods come from the kubelet.
    '--kubelet-preferred-address-types=InternalIP',
    `--service-account-key-file=${file('accounts.key')}`,
    `--service-account-signing-key-file=${file('accounts.key')}`,
  ])
}

function startControllers(): void {
  const common = [
    `--kubeconfig=${KUBECONFIG}`,
    '--leader-elect=false',
    `--cert-dir=${file('certificates')}`,
  ]
  kube('controller-manager', [
    ...common,
    '--use-service-account-credentials',
    `--service-account-private-key-file=${file('accounts.key')}`,
    `--root-ca-file=${file('certificates/apiserver.crt')}`,
  ])
  kube('scheduler', common)
}

const CONTAINERD = file('containerd.sock')

function startContainerd(): void {
  mkdirSync(file('network'))
  writeFileSync(file('network/10-pods.conflist'), JSON.stringify(NETWORK))
  writeFileSync(
    file('containerd.toml'),
    `version = 2
root = "${file('containerd')}"
state = "${file('containerd-state')}"
[grpc]
  address = "${CONTAINERD}"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "gatehouse-test/pause:latest"
  # Root of a container or a small virtual machine may not lower it.
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "${process.env['GATEHOUSE_TEST_CNI'] ?? ''}"
    conf_dir = "${file('network')}"
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
`,
  )
  run('containerd', 'containerd', ['--config', file('containerd.toml')])
}

/** Each pod has a link to the node, so that all traffic between pods passes the node's rules. */
const NETWORK = {
  cniVersion: '0.4.0',
  name: 'pods',
  plugins: [
    {
      type: 'ptp',
      ipMasq: false,
      ipam: {
        type: 'host-local',
        dataDir: file('addresses'),
        ranges: [[{ subnet: PODS }]],
        routes: [{ dst: '0.0.0.0/0' }],
      },
    },
  ],
}

function importImages(): void {
  containerd('images', 'import', file('images.tar'))
}

/** Makes a call to containerd, in the namespace of the pods. */
export const containerd = (...args: readonly string[]): unknown =>
  execFileSync('ctr', ['--address', CONTAINERD, '--namespace', 'k8s.io', ...args], {
    stdio: ['ignore', 'ignore', 'inherit'],
  })

function startKubelet(): void {
  const config = {
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    kind: 'KubeletConfiguration',
    containerRuntimeEndpoint: `unix://${CONTAINERD}`,
    podLogsDir: file('pod-logs'),
    clusterDomain: 'cluster.local',
    clusterDNS: [NODE_ADDRESS],
    resolvConf: '/dev/null',
    authentication: { anonymous: { enabled: true }, webhook: { enabled: false } },
    authorization: { mode: 'AlwaysAllow' },
    // Control groups of either version, with or without systemd.
    cgroupDriver: 'cgroupfs',
    cgroupRoot: `/${FOLDER.split('/').at(-1) ?? ''}`,
    cgroupsPerQOS: false,
    enforceNodeAllocatable: [],
    failCgroupV1: false,
    failSwapOn: false,
    // However full the disk is.
    imageGCHighThresholdPercent: 100,
    evictionHard: { 'memory.available': '100Mi' },
  }
  writeFileSync(file('kubelet.json'), JSON.stringify(config))
  kube('kubelet', [
    `--config=${file('kubelet.json')}`,
    `--kubeconfig=${KUBECONFIG}`,
    '--hostname-override=node',
    `--node-ip=${NODE_ADDRESS}`,
    `--root-dir=${file('kubelet')}`,
  ])
}

function startProxy(): void {
  const config = {
    apiVersion: 'kubeproxy.config.k8s.io/v1alpha1',
    kind: 'KubeProxyConfiguration',
    mode: 'nftables',
    hostnameOverride: 'node',
    clusterCIDR: PODS,
    clientConnection: { kubeconfig: KUBECONFIG },
    // The table's size is the machine's.
    conntrack: { maxPerCore: 0 },
  }
  writeFileSync(file('proxy.json'), JSON.stringify(config))
  kube('proxy', [`--config=${file('proxy.json')}`])
}

function startDns(): void {
  writeFileSync(
    file('Corefile'),
    `.:53 {
  bind ${NODE_ADDRESS}
  ready ${NODE_ADDRESS}:8181
  errors
  kubernetes cluster.local {
    kubeconfig ${KUBECONFIG}
    ttl 1
  }
}
`,
  )
  run('coredns', 'GATEHOUSE_TEST_COREDNS', ['-conf', file('Corefile')])
}

/** Logs of a container's runs, the oldest first. */
export const containerLogs = (namespace: string, pod: string, container: string): string =>
  readdirSync(file('pod-logs'))
    .filter((name) => name.startsWith(`${namespace}_${pod}_`))
    .flatMap((name) => {
      const folder = join(file('pod-logs'), name, container)
      return readdirSync(folder)
        .sort()
        .map((each) => readFileSync(join(folder, each), 'utf8'))
    })
    .join('')
