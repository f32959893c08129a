// Runs the stack of a compose file, from `up` to `down`. scripts/test-containers.mjs has built the images.

import { execFileSync } from 'node:child_process'
import { join, resolve } from 'node:path'

const ROOT = resolve(import.meta.dirname, '../../..')

export interface ComposeStack {
  /** Names of the services, those that others need last. */
  services(): readonly string[]
  /** Output of a service, both streams. */
  logs(service: string): string
  /**
   * Sends SIGTERM to a service and waits for it, as `docker compose stop` does. Its exit code: 137 if it had to be killed
   * after its grace time.
   */
  stop(service: string): number
  /** Ends everything and removes what it made. */
  down(): void
}

/** file: from the root of the repository. Returns when every container runs, and those with a health check are healthy. */
export function composeUp(file: string): ComposeStack {
  const program = process.env['GATEHOUSE_TEST_COMPOSE'] ?? ''
  const compose = (...args: readonly string[]): string =>
    execFileSync(program, ['-f', join(ROOT, file), ...args], {
      cwd: ROOT,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    })
  const stack: ComposeStack = {
    services: () => compose('config', '--services').trim().split('\n').toReversed(),
    logs: (service) => compose('logs', '--no-color', '--no-log-prefix', service),
    stop(service) {
      compose('stop', service)
      const id = compose('ps', '--all', '--quiet', service).trim()
      const format = '{{.State.ExitCode}}'
      return Number(
        execFileSync('docker', ['inspect', '--format', format, id], { encoding: 'utf8' }),
      )
    },
    down: () => void compose('down', '--volumes', '--timeout', '5'),
  }
  try {
    compose('up', '--detach', '--no-build', '--wait', '--wait-timeout', '120')
    return stack
  } catch (error) {
    stack.down()
    throw error
  }
}
