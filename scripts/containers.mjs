// Provides a container engine and the base images of Gatehouse's images. Uses what the machine has. On a Debian without
// an image registry, starts its own engine and makes the images from Debian packages, npm's Node and the local Envoy.

import { execFileSync, spawn, spawnSync } from 'node:child_process'
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  openSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { aptInstall, attempt, cacheFolder, onPath } from './install.mjs'
import { SetupError } from './setup-error.mjs'
import { root } from './stale.mjs'

const NODE_IMAGE = 'node:24-bookworm-slim'
const RUNTIME_IMAGE = 'gcr.io/distroless/cc-debian12'
export const ENVOY_IMAGE = 'envoyproxy/envoy:v1.40-latest'
const OWN_NODE = 'gatehouse-base/node'
const OWN_RUNTIME = 'gatehouse-base/runtime'

const answers = (env) =>
  spawnSync('docker', ['info'], { stdio: 'ignore', env: { ...process.env, ...env } }).status === 0

/** Returns the environment for the engine's clients, and a function that stops the engine if this script started it. */
export async function startEngine(say) {
  if (onPath('docker') !== undefined && answers({})) return { env: {}, stop: () => undefined }
  // A recommended package mounts the control groups if nothing else has.
  if (onPath('dockerd') === undefined)
    aptInstall('a container engine', 'docker.io', say, { recommended: true })
  const folder = join(cacheFolder(), 'containers')
  mkdirSync(folder, { recursive: true })
  const env = { DOCKER_HOST: `unix://${folder}/docker.sock` }
  if (answers(env)) return { env, stop: () => undefined }
  return { env, stop: await startDaemon(folder, env) }
}

async function startDaemon(folder, env) {
  const log = openSync(join(folder, 'log'), 'w')
  const roots = ['--data-root', join(folder, 'data'), '--exec-root', join(folder, 'exec')]
  const args = [...roots, '--pidfile', join(folder, 'pid'), '--host', env.DOCKER_HOST]
  const daemon = spawn('dockerd', args, { stdio: ['ignore', log, log], detached: true })
  daemon.unref()
  for (let tries = 0; tries < 120 && daemon.exitCode === null; tries++) {
    if (answers(env)) return () => daemon.kill()
    await delay(500)
  }
  daemon.kill()
  throw new SetupError(`the container engine did not start; its log: ${join(folder, 'log')}`)
}

/**
 * Returns the names of the base images.
 * @param envoy the path of an Envoy, used if its image cannot be pulled.
 */
export function baseImages(engine, envoy, say) {
  const docker = dockerOf(engine)
  const node = docker.has(NODE_IMAGE) || docker.pull(NODE_IMAGE)
  const runtime = docker.has(RUNTIME_IMAGE) || docker.pull(RUNTIME_IMAGE)
  const made = node && runtime ? undefined : makeBases(docker, say)
  if (!docker.has(ENVOY_IMAGE) && !docker.pull(ENVOY_IMAGE)) makeEnvoy(docker, envoy, say)
  return made ?? { node: NODE_IMAGE, runtime: RUNTIME_IMAGE }
}

/** A client of the engine. */
export function dockerOf({ env }) {
  const options = { env: { ...process.env, ...env } }
  const succeeds = (...args) =>
    spawnSync('docker', args, { ...options, stdio: 'ignore' }).status === 0
  return {
    options,
    has: (image) => succeeds('image', 'inspect', image),
    pull: (image) => succeeds('pull', '--quiet', image),
  }
}

const FRESH_ENV = ['ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin']

function makeBases(docker, say) {
  const bases = { node: OWN_NODE, runtime: OWN_RUNTIME }
  if (docker.has(OWN_NODE) && docker.has(OWN_RUNTIME)) return bases
  const root = debianRoot(say)
  importImage(docker, root, OWN_RUNTIME, FRESH_ENV)
  addNode(root)
  importImage(docker, root, OWN_NODE, [
    ...FRESH_ENV,
    'ENV NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt',
  ])
  rmSync(root, { recursive: true })
  return bases
}

/** Makes the root of a minimal Debian system with the CA certificates of this machine. */
function debianRoot(say) {
  if (onPath('debootstrap') === undefined) aptInstall('debootstrap', 'debootstrap', say)
  const root = join(cacheFolder(), 'containers/root')
  rmSync(root, { recursive: true, force: true })
  say('making the base images of Debian packages (once, two minutes)')
  attempt('debootstrap', ['--variant=minbase', '--include=ca-certificates', 'bookworm', root], {
    trouble: 'debootstrap failed: see its message above; is the Debian mirror reachable?',
    stdio: ['ignore', 'ignore', 2],
  })
  copyFileSync(
    '/etc/ssl/certs/ca-certificates.crt',
    join(root, 'etc/ssl/certs/ca-certificates.crt'),
  )
  rmSync(join(root, 'var/cache/apt/archives'), { recursive: true })
  rmSync(join(root, 'var/lib/apt/lists'), { recursive: true })
  return root
}

/** Adds this process's Node, its npm, and the user "node" of the official image. */
function addNode(root) {
  copyFileSync(process.execPath, join(root, 'usr/local/bin/node'))
  const npm = dirname(dirname(realpathSync(onPath('npm'))))
  cpSync(npm, join(root, 'usr/local/lib/node_modules/npm'), { recursive: true })
  for (const name of ['npm', 'npx']) {
    const script = `#!/bin/sh\nexec node /usr/local/lib/node_modules/npm/bin/${name}-cli.js "$@"\n`
    writeFileSync(join(root, 'usr/local/bin', name), script, { mode: 0o755 })
  }
  execFileSync('chroot', [
    root,
    'useradd',
    '--uid',
    '1000',
    '--user-group',
    '--create-home',
    'node',
  ])
}

function importImage({ options }, root, image, changes) {
  const flags = changes.flatMap((change) => ['--change', change])
  const pipe = `tar -C "$0" -c . | docker import "$@" >/dev/null`
  execFileSync('sh', ['-c', pipe, root, ...flags, '-', image], {
    ...options,
    stdio: ['ignore', 2, 2],
  })
}

function makeEnvoy({ options }, envoy, say) {
  say('making an image of the Envoy at hand')
  const folder = join(cacheFolder(), 'containers/envoy')
  mkdirSync(folder, { recursive: true })
  copyFileSync(envoy, join(folder, 'envoy'))
  chmodSync(join(folder, 'envoy'), 0o755)
  const lines = [
    `FROM ${OWN_RUNTIME}`,
    'COPY envoy /usr/local/bin/envoy',
    'USER 101',
    'CMD ["envoy"]',
  ]
  writeFileSync(join(folder, 'Dockerfile'), `${lines.join('\n')}\n`)
  execFileSync('docker', ['build', '--quiet', '--tag', ENVOY_IMAGE, folder], {
    ...options,
    stdio: ['ignore', 2, 2],
  })
  rmSync(folder, { recursive: true })
}

/**
 * Builds a target of the Dockerfile.
 * @param args the build arguments, by name.
 */
export function buildImage(engine, { target, image, args }, say) {
  say(`building the image ${image}`)
  const flags = Object.entries(args).flatMap(([name, value]) => ['--build-arg', `${name}=${value}`])
  const all = ['build', '--quiet', '--target', target, '--tag', image, ...flags, root]
  attempt('docker', all, {
    ...dockerOf(engine).options,
    trouble: `the image ${image} could not be built`,
  })
}

const COMPOSE = 'v2.40.3'

/** Returns the path of docker-compose: the machine's, or one built once from its Go module. */
export function findCompose(say) {
  const found = onPath('docker-compose')
  if (found !== undefined) return found
  const folder = join(cacheFolder(), `compose-${COMPOSE}`)
  const program = join(folder, 'docker-compose')
  if (existsSync(program)) return program
  if (onPath('go') === undefined)
    throw new SetupError('docker compose is missing, and go, which builds it: install one of them')
  say(`building docker compose ${COMPOSE} into ${folder} (once, about five minutes)`)
  const module = join(folder, 'module')
  mkdirSync(module, { recursive: true })
  const package_ = 'github.com/docker/compose/v2/cmd'
  const lines = [
    'go mod init compose',
    `go get ${package_}@${COMPOSE}`,
    `go build -o "$0" ${package_}`,
  ]
  attempt('sh', ['-ec', lines.join(' && '), program], {
    cwd: module,
    trouble:
      'docker compose could not be built: see the message of go above; is its module proxy reachable?',
  })
  rmSync(module, { recursive: true })
  return program
}
