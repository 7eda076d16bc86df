/* free_threading.h - what the GIL keeps apart where there is one, and a lock of the object where there is none.
 *
 *   BEGIN_OBJECT_LOCK(o) { ... } END_OBJECT_LOCK()
 *
 * In a build with a GIL the two are nothing: no other thread comes between as long as the GIL is not let go.  In a
 * free-threaded build they are CPython's critical sections, which promise the same: they are suspended where the thread
 * lets Python go, and cannot deadlock.  No return, break or goto leaves one.
 *
 * What they protect: the pointers of an array object (release() on another thread), the contents of a capsule that is
 * moved out of, what a compute function has learned, an awaitable.  All else of a module's state is set before the
 * import of the package ends and never changed, is atomic, or belongs to a thread. */
#ifndef CDEVICE_NATIVE_FREE_THREADING_H
#define CDEVICE_NATIVE_FREE_THREADING_H

#ifdef Py_GIL_DISABLED
#define BEGIN_OBJECT_LOCK(object) Py_BEGIN_CRITICAL_SECTION(object)
#define BEGIN_OBJECT_LOCKS(first, second) Py_BEGIN_CRITICAL_SECTION2(first, second)
#define END_OBJECT_LOCK() Py_END_CRITICAL_SECTION()
#define END_OBJECT_LOCKS() Py_END_CRITICAL_SECTION2()
#else
#define BEGIN_OBJECT_LOCK(object) {
#define BEGIN_OBJECT_LOCKS(first, second) {
#define END_OBJECT_LOCK() }
#define END_OBJECT_LOCKS() }
#endif

#endif
