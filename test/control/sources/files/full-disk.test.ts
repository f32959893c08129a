// Files that are written while their disk is full: they count once they are written again.

import { expect, test } from 'vitest'
import { type DiskSpace, FullDisks } from '../../../../src/control/sources/files/full-disk.js'
import { nextTurn } from '../../../../src/kit/turns.js'

const MIB = 1024 * 1024
const space = (bavail: number, bfree = bavail, blocks = 10_240): DiskSpace => ({
  bsize: 4096,
  blocks,
  bavail,
  bfree,
})
const [ROOM, FULL] = [space(5_000), space(0)]

/** A disk whose room the test sets, with a file of some owner. */
function diskOf(owner = { uid: 1000, mode: 0o100644 }) {
  const disk = { space: ROOM, looks: 0 }
  const disks = new FullDisks({
    spaceOf: () => {
      disk.looks += 1
      return Promise.resolve(disk.space)
    },
    ownerOf: () => Promise.resolve(owner),
  })
  const isCut = async (name = 'a.yaml'): Promise<boolean> =>
    (await disks.writtenSince(`/etc/resources/${name}`, name)) === Infinity
  return { disk, disks, isCut }
}

test('a disk that was full at the change, and has room when the file is read', async () => {
  const { disk, disks, isCut } = diskOf()
  disk.space = FULL
  disks.saw('a.yaml', '/etc/resources')
  disk.space = ROOM
  expect(await isCut()).toBe(true)
  expect(await isCut('b.yaml')).toBe(false)
})

test('a disk that had room at a later change', async () => {
  const { disk, disks, isCut } = diskOf()
  disk.space = FULL
  disks.saw('a.yaml', '/etc/resources')
  disk.space = ROOM
  disks.saw('a.yaml', '/etc/resources')
  expect(await isCut()).toBe(false)
})

test('a change of a name that the system does not tell concerns all files', async () => {
  const { disk, disks, isCut } = diskOf()
  disk.space = FULL
  disks.saw(null, '/etc/resources')
  disk.space = ROOM
  expect(await isCut()).toBe(true)
})

test('thousands of changes at once are one look, and one more', async () => {
  const { disk, disks } = diskOf()
  for (let index = 0; index < 5_000; index += 1) disks.saw(`${String(index)}.yaml`, '/etc')
  await nextTurn()
  expect(disk.looks).toBe(2)
})

test.each([
  ['less than a MiB', space(MIB / 4096 - 1), true],
  ['a MiB', space(MIB / 4096), false],
  ['a small disk that is half empty', space(8, 8, 16), false],
  ['a small disk without a block', space(0, 0, 16), true],
  ['a file system that counts no blocks', space(0, 0, 0), false],
])('%s', async (_, now, cut) => {
  const { disk, isCut } = diskOf()
  disk.space = now
  expect(await isCut()).toBe(cut)
})

test.each([
  ['root alone writes, to what is kept for root', 0, 0o644, 5_000, false],
  ['a group writes too', 0, 0o664, 5_000, true],
  ['everybody writes too', 0, 0o646, 5_000, true],
  ['another user writes', 1000, 0o600, 5_000, true],
  ['root alone writes, and even root has no room', 0, 0o644, 10, true],
])('blocks that are kept for root: %s', async (_, uid, mode, bfree, cut) => {
  const { disk, isCut } = diskOf({ uid, mode })
  disk.space = space(0, bfree)
  expect(await isCut()).toBe(cut)
})
