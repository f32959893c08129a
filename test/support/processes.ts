// Queries the processes of this machine with `ps`.

import { execFileSync } from 'node:child_process'

/** Returns all descendants of a process. */
export function descendantsOf(pid: number): readonly number[] {
  const children = new Map<number, number[]>()
  for (const line of execFileSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' }).split(
    '\n',
  )) {
    const [child = 0, parent = 0] = line.trim().split(/\s+/).map(Number)
    children.set(parent, [...(children.get(parent) ?? []), child])
  }
  const below = (parent: number): readonly number[] =>
    (children.get(parent) ?? []).flatMap((child) => [child, ...below(child)])
  return below(pid)
}

/** Whether a process has ended, including zombies. */
export function isGone(pid: number): boolean {
  try {
    const state = execFileSync('ps', ['-o', 'stat=', '-p', String(pid)], { encoding: 'utf8' })
    return state.trim().startsWith('Z')
  } catch {
    return true
  }
}
