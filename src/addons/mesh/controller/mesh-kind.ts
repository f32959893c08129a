// A kind of object that a mesh reads.

/** A kind of object that a mesh reads. */
export interface MeshKind {
  readonly group: string
  readonly kind: string
  readonly versions: readonly string[]
  /** Only objects of this name are read; absent: all. */
  readonly name?: string
}
